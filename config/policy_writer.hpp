// Policy → TOML, with a comment above each rule.
#pragma once

#include <string>
#include <vector>

#include "config/policy.hpp"

namespace braid::config {

/// Comments to go into the file; each may have several lines. Lists shorter than the rules' are
/// fine.
struct PolicyComments {
  std::string head;                      // above everything
  std::vector<std::string> rules;        // above [[rule]] number i
  std::vector<std::string> tuner_rules;  // above [[tuner.rule]] number i
  std::vector<std::string> plan;         // above [[plan]] number i
};

/// A policy file that read_policy_text reads back to the same policy, except for `path`, `digest`
/// and the rules' line numbers. The same policy and comments always give the same bytes. Texts that
/// are not UTF-8 have their wrong bytes replaced; what a serial rule holds as cut and parts is left
/// out.
std::string write_policy_text(const Policy& policy, const PolicyComments& comments = {});

/// The same into a file, replaced in one step.
Status write_policy_file(const Policy& policy, const PolicyComments& comments,
                         const std::string& path);

}  // namespace braid::config
