// The sockets of this process, so that a fork child can let go of them: while a child holds one, a
// peer would not see that this process has ended.
#pragma once

namespace braid::interposer {

/// Notes a descriptor of ours; forgets it again before it is closed. Lock free.
void note_descriptor(int descriptor);
void forget_descriptor(int descriptor);

/// In a fork child: closes all that are noted. Async-signal-safe.
void close_descriptors_in_child();

}  // namespace braid::interposer
