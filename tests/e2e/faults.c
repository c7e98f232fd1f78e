/* Lets the n-th call of a kind fail, in this process and in all that it starts.

   FAULT_FILE   a file of three longs, which all of them map: fail at, calls so far, errno
   FAULT_BELOW  only calls on files below this folder count
   FAULT_CALLS  files (without it): what writes; opens: what opens, for reading too, and folders;
                forks (and threads), memory (pieces of 64 KiB or more), or clock:
                from the n-th look at the time of day on, that is as many seconds later as errno says
   FAULT_LATE   nothing counts until faults_arm() was called

   Preloaded (LD_PRELOAD) between a program and the C library. What failed is said on file number 2
   when FAULT_SAY is set. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct shared { _Atomic long at, count, error; char last[PATH_MAX]; };
static struct shared *shared;
static const char *below;
static enum { FILES, OPENS, FORKS, MEMORY, CLOCK } calls;
static int is_armed;
void faults_arm(void) { is_armed = 1; }

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("FAULT_FILE");
    below = getenv("FAULT_BELOW");
    if (file == NULL || below == NULL) return;
    int handle = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
    if (handle < 0) return;
    void *map = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    syscall(SYS_close, handle);
    const char *kind = getenv("FAULT_CALLS");
    if (kind != NULL)
        calls = kind[0] == 'm' ? MEMORY : kind[0] == 'c' ? CLOCK : kind[0] == 'o' ? OPENS : kind[1] == 'o' ? FORKS : FILES;
    is_armed = getenv("FAULT_LATE") == NULL;
    if (map != MAP_FAILED) shared = map;
}

static int is_below(const char *path) { return strncmp(path, below, strlen(below)) == 0; }

static int reaches(const char *call, const char *path);

/* Whether this call is the one that fails: it then has its errno. */
static int fails(const char *call, const char *path) {
    int is_counted = calls == FILES || (calls == OPENS && strcmp(call, "open") == 0);
    if (shared == NULL || !is_counted || !is_below(path)) return 0;
    return reaches(call, path);
}

/* Whether this is the n-th call. */
static int reaches(const char *call, const char *path) {
    if (!is_armed) return 0;
    long number = atomic_fetch_add(&shared->count, 1) + 1;
    if (number != shared->at) return 0;
    snprintf(shared->last, sizeof shared->last, "%s %s", call, path);
    errno = (int)shared->error;
    return 1;
}

static int fails_at(const char *call, int handle) {
    char link[64], path[PATH_MAX];
    if (shared == NULL) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return fails(call, path);
}

static int fails_in(const char *call, int folder, const char *name) {
    char link[64], path[2 * PATH_MAX], at[PATH_MAX];
    if (shared == NULL) return 0;
    if (name[0] == '/') return fails(call, name);
    if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    long size = syscall(SYS_readlinkat, AT_FDCWD, link, at, sizeof at - 1);
    if (size < 0) return 0;
    at[size] = 0;
    snprintf(path, sizeof path, "%s/%s", at, name);
    return fails(call, path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)

#define COUNTS(flags) (calls == OPENS || (flags) & WRITES)

#define OPEN(name)                                                              \
    int name(const char *path, int flags, ...) {                                \
        va_list more; va_start(more, flags);                                    \
        mode_t mode = va_arg(more, mode_t); va_end(more);                       \
        if (COUNTS(flags) && fails_in("open", AT_FDCWD, path)) return -1;      \
        return NEXT(name)(path, flags, mode);                                   \
    }
#define OPENAT(name)                                                            \
    int name(int folder, const char *path, int flags, ...) {                    \
        va_list more; va_start(more, flags);                                    \
        mode_t mode = va_arg(more, mode_t); va_end(more);                       \
        if (COUNTS(flags) && fails_in("open", folder, path)) return -1;        \
        return NEXT(name)(folder, path, flags, mode);                           \
    }
OPEN(open) OPEN(open64) OPENAT(openat) OPENAT(openat64)
DIR *opendir(const char *path) {
    if (COUNTS(0) && fails_in("open", AT_FDCWD, path)) return NULL;
    return NEXT(opendir)(path);
}

ssize_t write(int handle, const void *data, size_t size) {
    if (fails_at("write", handle)) return -1;
    return NEXT(write)(handle, data, size);
}
ssize_t writev(int handle, const struct iovec *parts, int count) {
    if (fails_at("write", handle)) return -1;
    return NEXT(writev)(handle, parts, count);
}
int fsync(int handle) { return fails_at("fsync", handle) ? -1 : NEXT(fsync)(handle); }
int fdatasync(int handle) { return fails_at("fsync", handle) ? -1 : NEXT(fdatasync)(handle); }
int ftruncate(int handle, off_t size) {
    return fails_at("ftruncate", handle) ? -1 : NEXT(ftruncate)(handle, size);
}
int ftruncate64(int handle, off64_t size) {
    return fails_at("ftruncate", handle) ? -1 : NEXT(ftruncate64)(handle, size);
}
int rename(const char *from, const char *to) {
    return fails_in("rename", AT_FDCWD, to) ? -1 : NEXT(rename)(from, to);
}
int renameat(int at, const char *from, int in, const char *to) {
    return fails_in("rename", in, to) ? -1 : NEXT(renameat)(at, from, in, to);
}
int mkdir(const char *path, mode_t mode) {
    return fails_in("mkdir", AT_FDCWD, path) ? -1 : NEXT(mkdir)(path, mode);
}
int mkdirat(int at, const char *path, mode_t mode) {
    return fails_in("mkdir", at, path) ? -1 : NEXT(mkdirat)(at, path, mode);
}

static int fails_as(int kind, const char *call) {
    return shared != NULL && calls == kind && reaches(call, "");
}
pid_t fork(void) { return fails_as(FORKS, "fork") ? -1 : NEXT(fork)(); }
pid_t vfork(void) { return fork(); } /* what returns twice cannot be passed on by a function */
int pthread_create(pthread_t *made, const pthread_attr_t *how, void *(*begin)(void *), void *with) {
    return fails_as(FORKS, "thread") ? errno : NEXT(pthread_create)(made, how, begin, with);
}

/* Python's own arenas come by mmap, what numpy, Arrow and V8 want by malloc or mmap. */
#define LARGE 65536
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void *malloc(size_t size) {
    return size >= LARGE && fails_as(MEMORY, "malloc") ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    int is_large = size != 0 && count >= LARGE / size;
    return is_large && fails_as(MEMORY, "calloc") ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    return size >= LARGE && fails_as(MEMORY, "realloc") ? NULL : __libc_realloc(old, size);
}
void *mmap(void *at, size_t size, int may, int flags, int handle, off_t from) {
    if (flags & MAP_ANONYMOUS && fails_as(MEMORY, "mmap")) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, may, flags, handle, from);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, which, now);
    if (shared == NULL || calls != CLOCK || which != CLOCK_REALTIME || !is_armed) return failed;
    if (atomic_fetch_add(&shared->count, 1) + 1 >= shared->at && shared->at) now->tv_sec += shared->error;
    return failed;
}
