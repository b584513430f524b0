#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "common/check.hpp"
#include "common/rendezvous.hpp"

namespace examples {
namespace {

constexpr auto kConnectPatience = std::chrono::seconds(120);
constexpr auto kRetryPause = std::chrono::milliseconds(50);

void send_all(int socket, const void* bytes, size_t count) {
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t sent = ::send(socket, next, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      fail("rendezvous: a peer went away: %s", std::strerror(errno));
    }
    next += sent;
    count -= static_cast<size_t>(sent);
  }
}

void receive_all(int socket, void* bytes, size_t count) {
  auto* next = static_cast<char*>(bytes);
  while (count > 0) {
    const ssize_t received = ::recv(socket, next, count, 0);
    if (received < 0 && errno == EINTR) {
      continue;
    }
    if (received <= 0) {
      fail("rendezvous: a peer went away%s%s", received < 0 ? ": " : "",
           received < 0 ? std::strerror(errno) : "");
    }
    next += received;
    count -= static_cast<size_t>(received);
  }
}

/// Resolved addresses of host:port, freed at the end.
class Addresses {
 public:
  Addresses(const char* host, int port, bool listen) {
    addrinfo hints = {};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = listen ? AI_PASSIVE : 0;
    const int error =
        getaddrinfo(listen ? nullptr : host, std::to_string(port).c_str(), &hints, &first_);
    if (error != 0) {
      fail("rendezvous: MASTER_ADDR '%s': %s", host, gai_strerror(error));
    }
  }
  ~Addresses() { freeaddrinfo(first_); }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  const addrinfo* first() const { return first_; }

 private:
  addrinfo* first_ = nullptr;
};

int listen_on(int port) {
  const Addresses addresses("", port, true);
  for (const addrinfo* a = addresses.first(); a != nullptr; a = a->ai_next) {
    const int socket = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    const int on = 1;
    if (socket < 0) {
      continue;
    }
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(socket, a->ai_addr, a->ai_addrlen) == 0 && listen(socket, SOMAXCONN) == 0) {
      return socket;
    }
    close(socket);
  }
  fail("rendezvous: rank 0 cannot listen on port %d (MASTER_PORT): %s", port, std::strerror(errno));
}

int connect_to(const char* host, int port) {
  const auto deadline = std::chrono::steady_clock::now() + kConnectPatience;
  const Addresses addresses(host, port, false);
  while (std::chrono::steady_clock::now() < deadline) {
    for (const addrinfo* a = addresses.first(); a != nullptr; a = a->ai_next) {
      const int socket = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
      if (socket < 0) {
        continue;
      }
      if (connect(socket, a->ai_addr, a->ai_addrlen) == 0) {
        return socket;
      }
      close(socket);
    }
    std::this_thread::sleep_for(kRetryPause);  // rank 0 may not listen yet
  }
  fail("rendezvous: rank 0 did not answer at %s:%d (MASTER_ADDR, MASTER_PORT)", host, port);
}

class TcpRendezvous final : public Rendezvous {
 public:
  TcpRendezvous(int rank, int ranks, const char* host, int port)
      : peers_(static_cast<size_t>(ranks), -1) {
    if (rank != 0) {
      peers_[0] = connect_to(host, port);
      send_all(peers_[0], &rank, sizeof(rank));
      return;
    }
    const int listener = ranks > 1 ? listen_on(port) : -1;
    for (int arrived = 1; arrived < ranks; ++arrived) {
      const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) {
        fail("rendezvous: accept: %s", std::strerror(errno));
      }
      int peer = 0;
      receive_all(socket, &peer, sizeof(peer));
      if (peer <= 0 || peer >= ranks || peers_[static_cast<size_t>(peer)] >= 0) {
        fail("rendezvous: unexpected rank %d of %d; is each RANK unique?", peer, ranks);
      }
      peers_[static_cast<size_t>(peer)] = socket;
    }
    if (listener >= 0) {
      close(listener);
    }
  }

  ~TcpRendezvous() override {
    for (const int socket : peers_) {
      if (socket >= 0) {
        close(socket);
      }
    }
  }

  void broadcast(int rank, void* bytes, size_t count) override {
    if (rank != 0) {
      receive_all(peers_[0], bytes, count);
      return;
    }
    for (size_t peer = 1; peer < peers_.size(); ++peer) {
      send_all(peers_[peer], bytes, count);
    }
  }

  std::vector<uint64_t> gather(int rank, uint64_t value) override {
    if (rank != 0) {
      send_all(peers_[0], &value, sizeof(value));
      return {};
    }
    std::vector<uint64_t> values(peers_.size(), value);
    for (size_t peer = 1; peer < peers_.size(); ++peer) {
      receive_all(peers_[peer], &values[peer], sizeof(values[peer]));
    }
    return values;
  }

 private:
  std::vector<int> peers_;  // rank 0: a socket for each rank; others: rank 0's
};

}  // namespace

std::unique_ptr<Rendezvous> make_tcp_rendezvous(int rank, int ranks, const char* host, int port) {
  return std::make_unique<TcpRendezvous>(rank, ranks, host, port);
}

}  // namespace examples
