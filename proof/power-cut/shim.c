/*
 * Writes down, in their order, all changes that a process makes to the files below PCUT_DIR, and every sync of them, into
 * the file PCUT_LOG. From this record the harness makes the folder as a power cut at any moment may leave it. Syncs are
 * only written down: the machine under test keeps its power.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum op { OPEN = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, RMDIR, LINK };
enum { CREATED = 1, EMPTIED = 2, FOLDER = 4 };

#define MAX_FDS 65536

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t inodes[MAX_FDS];
static const char *dir;
static size_t dir_length;
static int log_fd = -1;

#define REAL(name) \
  static __typeof__(&name) real; \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static ssize_t plain_writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  return real(fd, parts, count);
}

static int plain_open(const char *path, int flags, mode_t mode) {
  REAL(open);
  return real(path, flags, mode);
}

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("PCUT_LOG");
  const char *below = getenv("PCUT_DIR");
  if (below == NULL || file == NULL) return;
  /* A program may write over its environment. */
  dir = strdup(below);
  dir_length = strlen(dir);
  log_fd = plain_open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int is_ours(const char *path) {
  return log_fd >= 0 && path != NULL && strncmp(path, dir, dir_length) == 0 &&
         (path[dir_length] == '/' || path[dir_length] == 0);
}

/* Some closes go past the C library, so a number may stand for another file or a socket by now. */
static uint64_t inode_of(int fd) {
  if (log_fd < 0 || fd < 0 || fd >= MAX_FDS || inodes[fd] == 0) return 0;
  struct stat found;
  int error = errno;
  if (fstat(fd, &found) != 0 || found.st_ino != inodes[fd] || !(S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)))
    inodes[fd] = 0;
  errno = error;
  return inodes[fd];
}

static void note_parts(enum op op, uint64_t inode, uint64_t number, const struct iovec *parts, int count) {
  struct __attribute__((packed)) {
    uint8_t op;
    uint64_t inode, number;
    uint32_t length;
  } head = {op, inode, number, 0};
  struct iovec all[count + 1];
  for (int i = 0; i < count; i++) {
    all[i + 1] = parts[i];
    head.length += parts[i].iov_len;
  }
  all[0] = (struct iovec){&head, sizeof head};
  if (plain_writev(log_fd, all, count + 1) != (ssize_t)(sizeof head + head.length)) abort();
}

static void note(enum op op, uint64_t inode, uint64_t number, const char *text) {
  struct iovec part = {(void *)text, strlen(text)};
  note_parts(op, inode, number, &part, 1);
}

static void note_two(enum op op, const char *from, const char *to) {
  struct iovec parts[] = {{(void *)from, strlen(from)}, {"\n", 1}, {(void *)to, strlen(to)}};
  note_parts(op, 0, 0, parts, 3);
}

static int opened(const char *path, int flags, mode_t mode) {
  if (!is_ours(path)) return plain_open(path, flags, mode);
  pthread_mutex_lock(&mutex);
  int was_there = access(path, F_OK) == 0;
  int fd = plain_open(path, flags, mode);
  int error = errno;
  struct stat found;
  if (fd >= 0 && fd < MAX_FDS && fstat(fd, &found) == 0) {
    int isFolder = S_ISDIR(found.st_mode);
    inodes[fd] = found.st_ino;
    note(OPEN, found.st_ino, (was_there ? 0 : CREATED) | (flags & O_TRUNC ? EMPTIED : 0) | (isFolder ? FOLDER : 0),
         path);
  }
  pthread_mutex_unlock(&mutex);
  errno = error;
  return fd;
}

#define OPENER(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return opened(path, flags, mode); \
  }
OPENER(open)
OPENER(open64)

int close(int fd) {
  REAL(close);
  if (inode_of(fd) == 0) return real(fd);
  pthread_mutex_lock(&mutex);
  inodes[fd] = 0;
  int result = real(fd);
  pthread_mutex_unlock(&mutex);
  return result;
}

/* The position after a write says where it went, in files that are appended to as well. */
static void note_written(int fd, ssize_t written, off_t at, const struct iovec *parts, int count) {
  if (written <= 0) return;
  off_t start = at >= 0 ? at : lseek(fd, 0, SEEK_CUR) - written;
  struct iovec kept[count];
  ssize_t left = written;
  int used = 0;
  for (; used < count && left > 0; used++) {
    kept[used] = parts[used];
    if ((ssize_t)kept[used].iov_len > left) kept[used].iov_len = left;
    left -= kept[used].iov_len;
  }
  note_parts(WRITE, inodes[fd], start, kept, used);
}

#define WRITER(call, fd, at, parts, count) \
  if (inode_of(fd) == 0) return call; \
  pthread_mutex_lock(&mutex); \
  ssize_t written = call; \
  int error = errno; \
  note_written(fd, written, at, parts, count); \
  pthread_mutex_unlock(&mutex); \
  errno = error; \
  return written

ssize_t write(int fd, const void *bytes, size_t length) {
  REAL(write);
  struct iovec part = {(void *)bytes, length};
  WRITER(real(fd, bytes, length), fd, -1, &part, 1);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  REAL(pwrite);
  struct iovec part = {(void *)bytes, length};
  WRITER(real(fd, bytes, length, at), fd, at, &part, 1);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  REAL(pwrite64);
  struct iovec part = {(void *)bytes, length};
  WRITER(real(fd, bytes, length, at), fd, at, &part, 1);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  WRITER(real(fd, parts, count), fd, -1, parts, count);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  REAL(pwritev);
  WRITER(real(fd, parts, count, at), fd, at, parts, count);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  REAL(pwritev64);
  WRITER(real(fd, parts, count, at), fd, at, parts, count);
}

#define TRUNCATER(name, type) \
  int name(int fd, type size) { \
    REAL(name); \
    if (inode_of(fd) == 0) return real(fd, size); \
    pthread_mutex_lock(&mutex); \
    int result = real(fd, size); \
    if (result == 0) note(TRUNCATE, inodes[fd], size, ""); \
    pthread_mutex_unlock(&mutex); \
    return result; \
  }
TRUNCATER(ftruncate, off_t)
TRUNCATER(ftruncate64, off64_t)

#define SYNCER(name) \
  int name(int fd) { \
    REAL(name); \
    if (inode_of(fd) == 0) return real(fd); \
    pthread_mutex_lock(&mutex); \
    note(SYNC, inodes[fd], 0, ""); \
    pthread_mutex_unlock(&mutex); \
    return 0; \
  }
SYNCER(fsync)
SYNCER(fdatasync)

#define NAMER(ours, call, remember) \
  if (!(ours)) return call; \
  pthread_mutex_lock(&mutex); \
  int result = call; \
  int error = errno; \
  if (result == 0) remember; \
  pthread_mutex_unlock(&mutex); \
  errno = error; \
  return result

int rename(const char *from, const char *to) {
  REAL(rename);
  NAMER(is_ours(from) || is_ours(to), real(from, to), note_two(RENAME, from, to));
}

int link(const char *from, const char *to) {
  REAL(link);
  NAMER(is_ours(to), real(from, to), note_two(LINK, from, to));
}

int unlink(const char *path) {
  REAL(unlink);
  NAMER(is_ours(path), real(path), note(UNLINK, 0, 0, path));
}

int rmdir(const char *path) {
  REAL(rmdir);
  NAMER(is_ours(path), real(path), note(RMDIR, 0, 0, path));
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  NAMER(is_ours(path), real(path, mode), note(MKDIR, 0, 0, path));
}
