// Subscribing to driver-API callbacks.
#include <cupti.h>

#include <cstdio>

#include "vgpu/core/callback_hub.hpp"
#include "vgpu/core/context.hpp"
#include "vgpu/cupti/driver_names.hpp"

#define CUPTI_EXPORT extern "C" __attribute__((visibility("default")))

using namespace braid::vgpu;

namespace {

// Only driver-API callbacks exist: the stand-ins' runtime is seen through the driver calls it
// makes, which are the ones braid and others order work by.
CUptiResult check_domain(CUpti_CallbackDomain domain, const char* function) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    return CUPTI_SUCCESS;
  }
  if (domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  report_once(
      std::string(function) + ": callback domain " + std::to_string(domain) +
      " is not available on virtual GPUs (CUPTI_ERROR_NOT_SUPPORTED); only the driver API is");
  return CUPTI_ERROR_NOT_SUPPORTED;
}

}  // namespace

CUPTI_EXPORT CUptiResult cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API};
  if (count == nullptr || table == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *count = 1;
  *table = domains;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber,
                                        CUpti_CallbackFunc callback, void* user_data) {
  return add_subscriber(subscriber, callback, user_data);
}

CUPTI_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber,
                                           CUpti_CallbackFunc callback, void* user_data,
                                           CUpti_SubscriberParams* parameters) {
  const CUptiResult result = add_subscriber(subscriber, callback, user_data);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && parameters != nullptr &&
      parameters->oldSubscriberName != nullptr && parameters->oldSubscriberSize > 0) {
    std::snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize, "CUPTI subscriber");
  }
  return result;
}

CUPTI_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  return remove_subscriber(subscriber);
}

CUPTI_EXPORT CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                               CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const CUptiResult error = check_domain(domain, "cuptiGetCallbackState");
  return error != CUPTI_SUCCESS ? error : callback_state(subscriber, id, enable);
}

CUPTI_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                             CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const CUptiResult error = check_domain(domain, "cuptiEnableCallback");
  return error != CUPTI_SUCCESS ? error : enable_callback(subscriber, id, enable != 0);
}

CUPTI_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                           CUpti_CallbackDomain domain) {
  const CUptiResult error = check_domain(domain, "cuptiEnableDomain");
  return error != CUPTI_SUCCESS ? error : enable_all_callbacks(subscriber, enable != 0);
}

CUPTI_EXPORT CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  return enable_all_callbacks(subscriber, enable != 0);
}

CUPTI_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id,
                                              const char** name) {
  if (const CUptiResult error = check_domain(domain, "cuptiGetCallbackName");
      error != CUPTI_SUCCESS) {
    return error;
  }
  const char* found = driver_function_name(id);
  if (name == nullptr || found == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *name = found;
  return CUPTI_SUCCESS;
}

CUPTI_EXPORT CUptiResult cuptiFinalize() {
  remove_all_subscribers();
  return CUPTI_SUCCESS;
}
