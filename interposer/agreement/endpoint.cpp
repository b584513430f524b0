#include "interposer/agreement/endpoint.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace braid::interposer {
namespace {

constexpr char kStampMagic[8] = {'B', 'R', 'A', 'I', 'D', 'I', 'D', '1'};

// NCCL's own handle fills the first bytes of the id (a cookie and a socket address, under 64 bytes
// in every release read); the rest it zeroes and never reads.
struct StampBytes {
  char magic[8];
  uint8_t token[16];
  uint16_t family;
  uint16_t port;  // network order
  uint32_t scope;
  uint8_t address[16];
};
static_assert(sizeof(StampBytes) == 48);
constexpr size_t kStampOffset = NCCL_UNIQUE_ID_BYTES - sizeof(StampBytes);

struct FrameHeader {
  uint32_t bytes;  // of the body
  uint16_t type;
  uint16_t check;  // a cheap test that the peer speaks our language
};
constexpr uint16_t kFrameCheck = 0xb41d;

bool matches_interface_list(const char* list, std::string_view name) {
  // NCCL_SOCKET_IFNAME: comma list of prefixes; ^ inverts, = asks for the exact name.
  std::string_view text(list);
  const bool inverted = text.starts_with('^');
  if (inverted) {
    text.remove_prefix(1);
  }
  const bool exact = text.starts_with('=');
  if (exact) {
    text.remove_prefix(1);
  }
  bool found = false;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    found = found || (!item.empty() && (exact ? name == item : name.starts_with(item)));
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return found != inverted;
}

bool is_usable(const ifaddrs& interface) {
  if (interface.ifa_addr == nullptr || (interface.ifa_flags & IFF_UP) == 0 ||
      (interface.ifa_flags & IFF_RUNNING) == 0) {
    return false;
  }
  if (interface.ifa_addr->sa_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(interface.ifa_addr);
    return !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
  }
  return interface.ifa_addr->sa_family == AF_INET;
}

Endpoint choose_interface() {
  Endpoint chosen;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
    const char* wanted = std::getenv("NCCL_SOCKET_IFNAME");
    for (const ifaddrs* entry = list; entry != nullptr && chosen.length == 0;
         entry = entry->ifa_next) {
      const bool named = wanted != nullptr && *wanted != '\0';
      const bool fits = named ? matches_interface_list(wanted, entry->ifa_name)
                              : (entry->ifa_flags & IFF_LOOPBACK) == 0 &&
                                    !std::string_view(entry->ifa_name).starts_with("docker");
      if (fits && is_usable(*entry)) {
        chosen.length =
            entry->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::memcpy(&chosen.address, entry->ifa_addr, chosen.length);
      }
    }
  }
  if (chosen.length == 0) {
    auto* loopback = reinterpret_cast<sockaddr_in*>(&chosen.address);
    loopback->sin_family = AF_INET;
    loopback->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    chosen.length = sizeof(sockaddr_in);
  }
  return chosen;
}

bool send_all(int descriptor, const uint8_t* bytes, size_t count, int flags = 0) {
  while (count > 0) {
    const ssize_t sent = ::send(descriptor, bytes, count, MSG_NOSIGNAL | flags);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd waiting{descriptor, POLLOUT, 0};
      if (poll(&waiting, 1, 10000) <= 0) {
        return false;
      }
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    bytes += sent;
    count -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int descriptor, uint8_t* bytes, size_t count) {
  while (count > 0) {
    const ssize_t received = ::recv(descriptor, bytes, count, 0);
    if (received < 0 && errno == EINTR) {
      continue;
    }
    if (received <= 0) {
      return false;
    }
    bytes += received;
    count -= static_cast<size_t>(received);
  }
  return true;
}

bool is_valid(const FrameHeader& header) {
  return header.check == kFrameCheck && header.bytes <= kMaxMessageBytes;
}

}  // namespace

Result<int> open_listener(Endpoint* endpoint) {
  *endpoint = choose_interface();
  const int descriptor =
      ::socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) {
    return fail("side channel", std::string("no socket: ") + strerror(errno));
  }
  auto* address = reinterpret_cast<sockaddr*>(&endpoint->address);
  endpoint->length = sizeof(endpoint->address);
  const socklen_t bind_length =
      endpoint->address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (bind(descriptor, address, bind_length) != 0 || listen(descriptor, 1024) != 0 ||
      getsockname(descriptor, address, &endpoint->length) != 0) {
    const std::string reason = strerror(errno);
    ::close(descriptor);
    return fail("side channel", "cannot listen: " + reason);
  }
  return descriptor;
}

Result<int> connect_to(const Endpoint& endpoint, int timeout_ms) {
  const int descriptor =
      ::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) {
    return fail("side channel", std::string("no socket: ") + strerror(errno));
  }
  int error = 0;
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&endpoint.address),
                endpoint.length) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      pollfd waiting{descriptor, POLLOUT, 0};
      socklen_t length = sizeof(error);
      error = poll(&waiting, 1, timeout_ms) == 1 ? 0 : ETIMEDOUT;
      if (error == 0) {
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
      }
    }
  }
  if (error != 0) {
    ::close(descriptor);
    return fail("side channel", std::string("cannot reach the coordinator: ") + strerror(error));
  }
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  // A coordinator's host that vanishes is noticed within two minutes; one that is merely slow is
  // not.
  const int idle_seconds = 60;
  const int interval_seconds = 15;
  const int probes = 4;
  setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof(idle_seconds));
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof(interval_seconds));
  setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  return descriptor;
}

bool stamp_unique_id(ncclUniqueId* id, const Token& token, const Endpoint& endpoint) {
  char* tail = id->internal + kStampOffset;
  if (std::any_of(tail, tail + sizeof(StampBytes), [](char c) { return c != 0; })) {
    return false;
  }
  StampBytes stamp{};
  std::memcpy(stamp.magic, kStampMagic, sizeof(stamp.magic));
  std::memcpy(stamp.token, token.data(), token.size());
  stamp.family = endpoint.address.ss_family;
  if (stamp.family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(&endpoint.address);
    stamp.port = four->sin_port;
    std::memcpy(stamp.address, &four->sin_addr, sizeof(four->sin_addr));
  } else {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&endpoint.address);
    stamp.port = six->sin6_port;
    stamp.scope = six->sin6_scope_id;
    std::memcpy(stamp.address, &six->sin6_addr, sizeof(six->sin6_addr));
  }
  std::memcpy(tail, &stamp, sizeof(stamp));
  return true;
}

std::optional<Stamp> read_stamp(const ncclUniqueId& id) {
  StampBytes bytes;
  std::memcpy(&bytes, id.internal + kStampOffset, sizeof(bytes));
  if (std::memcmp(bytes.magic, kStampMagic, sizeof(bytes.magic)) != 0 ||
      (bytes.family != AF_INET && bytes.family != AF_INET6)) {
    return std::nullopt;
  }
  Stamp stamp;
  std::memcpy(stamp.token.data(), bytes.token, stamp.token.size());
  stamp.endpoint.address.ss_family = bytes.family;
  if (bytes.family == AF_INET) {
    auto* four = reinterpret_cast<sockaddr_in*>(&stamp.endpoint.address);
    four->sin_port = bytes.port;
    std::memcpy(&four->sin_addr, bytes.address, sizeof(four->sin_addr));
    stamp.endpoint.length = sizeof(sockaddr_in);
  } else {
    auto* six = reinterpret_cast<sockaddr_in6*>(&stamp.endpoint.address);
    six->sin6_port = bytes.port;
    six->sin6_scope_id = bytes.scope;
    std::memcpy(&six->sin6_addr, bytes.address, sizeof(six->sin6_addr));
    stamp.endpoint.length = sizeof(sockaddr_in6);
  }
  return stamp;
}

bool send_message(int descriptor, MessageType type, const std::vector<uint8_t>& body) {
  const FrameHeader header{static_cast<uint32_t>(body.size()), static_cast<uint16_t>(type),
                           kFrameCheck};
  return send_all(descriptor, reinterpret_cast<const uint8_t*>(&header), sizeof(header),
                  body.empty() ? 0 : MSG_MORE) &&
         send_all(descriptor, body.data(), body.size());
}

std::optional<Message> receive_message(int descriptor) {
  FrameHeader header{};
  if (!receive_all(descriptor, reinterpret_cast<uint8_t*>(&header), sizeof(header)) ||
      !is_valid(header)) {
    return std::nullopt;
  }
  Message message{static_cast<MessageType>(header.type), std::vector<uint8_t>(header.bytes)};
  if (!receive_all(descriptor, message.body.data(), message.body.size())) {
    return std::nullopt;
  }
  return message;
}

std::optional<Message> take_message(std::vector<uint8_t>* buffer, bool* bad) {
  FrameHeader header{};
  if (buffer->size() < sizeof(header)) {
    return std::nullopt;
  }
  std::memcpy(&header, buffer->data(), sizeof(header));
  if (!is_valid(header)) {
    *bad = true;
    return std::nullopt;
  }
  const size_t total = sizeof(header) + header.bytes;
  if (buffer->size() < total) {
    return std::nullopt;
  }
  Message message{static_cast<MessageType>(header.type), std::vector<uint8_t>(header.bytes)};
  if (header.bytes > 0) {
    std::memcpy(message.body.data(), buffer->data() + sizeof(header), header.bytes);
  }
  buffer->erase(buffer->begin(), buffer->begin() + static_cast<ptrdiff_t>(total));
  return message;
}

}  // namespace braid::interposer
