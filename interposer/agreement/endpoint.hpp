// Where the coordinator listens, and how the address travels: in the unused tail of ncclUniqueId.
#pragma once

#include <nccl.h>
#include <netinet/in.h>

#include <cstdint>
#include <optional>

#include "config/result.hpp"
#include "interposer/agreement/messages.hpp"

namespace braid::interposer {

/// A listening address, IPv4 or IPv6.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

/// Opens a listening socket on the job's interface: the first that NCCL_SOCKET_IFNAME names, else
/// the first one up that is not loopback, else loopback. Returns the descriptor.
Result<int> open_listener(Endpoint* endpoint);

/// Connects within `timeout_ms`; returns the descriptor (blocking).
Result<int> connect_to(const Endpoint& endpoint, int timeout_ms);

/// Writes token and address into the id's tail. False when the tail is in use.
bool stamp_unique_id(ncclUniqueId* id, const Token& token, const Endpoint& endpoint);

struct Stamp {
  Token token{};
  Endpoint endpoint;
};
/// Reads the tail back; empty when the id carries no stamp.
std::optional<Stamp> read_stamp(const ncclUniqueId& id);

/// Sends a whole framed message. False when the peer is gone.
bool send_message(int descriptor, MessageType type, const std::vector<uint8_t>& body);

/// Receives one whole message, waiting as long as the peer lives. Empty when it is gone or sends
/// what is not ours.
std::optional<Message> receive_message(int descriptor);

/// A framed message at the front of `buffer`, taken out of it. `bad` is set when the bytes are not
/// ours.
std::optional<Message> take_message(std::vector<uint8_t>* buffer, bool* bad);

}  // namespace braid::interposer
