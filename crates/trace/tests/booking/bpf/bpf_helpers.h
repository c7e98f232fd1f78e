/* SPDX-License-Identifier: (GPL-2.0-only OR Apache-2.0) */
/* What the hooks ask of the kernel, for a plain program: `../world.c` answers. */
#ifndef BOOKING_HELPERS_H
#define BOOKING_HELPERS_H

#define SEC(name)
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))

u64 bpf_ktime_get_ns(void);
u64 bpf_get_current_pid_tgid(void);
u32 bpf_get_smp_processor_id(void);
u32 bpf_get_prandom_u32(void);
void *bpf_map_lookup_elem(const void *map, const void *key);
long bpf_map_update_elem(const void *map, const void *key, const void *value, u64 flags);
long bpf_map_delete_elem(const void *map, const void *key);
void *bpf_sk_storage_get(const void *map, const void *sk, void *value, u64 flags);
struct tcp_sock *bpf_skc_to_tcp_sock(const void *sk);
long bpf_probe_read_kernel(void *to, u32 bytes, const void *from);
long bpf_probe_read_kernel_str(void *to, u32 bytes, const void *from);
long bpf_probe_read_user(void *to, u32 bytes, const void *from);
void *bpf_ringbuf_reserve(const void *ring, u64 bytes, u64 flags);
void bpf_ringbuf_submit(void *record, u64 flags);
long bpf_get_stackid(void *ctx, const void *map, u64 flags);
long bpf_task_pt_regs(const void *task);
struct task_struct *bpf_get_current_task_btf(void);
long bpf_get_current_comm(void *to, u32 bytes);
u64 bpf_get_socket_cookie(const void *sk);

struct socket *bpf_sock_from_file(void *file);
long bpf_seq_write(const void *seq, const void *data, u32 bytes);

#endif
