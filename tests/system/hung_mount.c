/*
 * hung_mount PROGRAM DIRECTORY [lookup|stat|open|read|flush] - a FUSE file system that can be made to hang
 *
 * Mounted on DIRECTORY it has a file `program` with what PROGRAM contains, and a file at each name like `perf-42.map`,
 * with one function that no process has. Nothing may be cached, so that the kernel sends a request for every open,
 * lookup and stat. It prints "ready" when it is mounted. The kind of request that is named is never answered for a map;
 * after SIGUSR1 no request is answered any more, and it prints "hung". It reads requests that it does not answer: the
 * kernel then lets no signal, SIGKILL included, end the process that waits for the answer. SIGTERM ends the file
 * system, and waiting calls fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define NODE_PROGRAM 2
#define NODE_MAP     3
#define PACKET_SIZE  (1u << 20)

static const char map[] = "1000 10 nobody\n";

struct fuse_server {
	int device, program;
	struct stat status; /* of the program */
	uint32_t silent;    /* the question about maps that is not answered; 0: none */
	bool is_hung;
	uint8_t *packet;
};

static const struct {
	const char *name;
	uint32_t opcode;
} questions[] = {
	{"lookup", FUSE_LOOKUP}, {"stat", FUSE_GETATTR}, {"open", FUSE_OPEN},
	{"read", FUSE_READ},     {"flush", FUSE_FLUSH},
};

static int
die(const char *what)
{
	perror(what);
	return 1;
}

/* The node of the file system is made when nobody has it: a minimal root has none. */
static int
open_device(void)
{
	char name[] = "/tmp/fuse.XXXXXX";
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd >= 0 || (errno != ENOENT && errno != ENXIO) || !mkdtemp(name))
		return fd;
	if (chdir(name) == 0 && mknod("fuse", S_IFCHR | 0600, makedev(10, 229)) == 0) {
		fd = open("fuse", O_RDWR | O_CLOEXEC);
		unlink("fuse");
	}
	if (chdir("/") == 0)
		rmdir(name);
	return fd;
}

static void
answer(const struct fuse_server *server, uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header header = {.len = (uint32_t)(sizeof(header) + size), .error = -error, .unique = unique};
	uint8_t *packet = malloc(sizeof(header) + size);

	if (!packet)
		abort();
	memcpy(packet, &header, sizeof(header));
	if (size)
		memcpy(packet + sizeof(header), data, size);
	if (write(server->device, packet, sizeof(header) + size) < 0 && errno != ENOENT)
		perror("answer");
	free(packet);
}

static struct fuse_attr
attributes(const struct fuse_server *server, uint64_t node)
{
	struct fuse_attr attr = {.ino = node, .mode = S_IFDIR | 0755, .nlink = 2, .blksize = 4096};

	if (node != NODE_PROGRAM && node != NODE_MAP)
		return attr;
	attr.size = node == NODE_MAP ? sizeof(map) - 1 : (uint64_t)server->status.st_size;
	attr.mode = S_IFREG | (node == NODE_MAP ? 0644 : 0755);
	attr.mtime = (uint64_t)time(NULL);
	attr.nlink = 1;
	return attr;
}

static void
answer_read(const struct fuse_server *server, uint64_t unique, uint64_t node, const struct fuse_read_in *in)
{
	uint8_t *data;
	ssize_t got;

	if (node == NODE_MAP) {
		answer(server, unique, 0, map, in->offset == 0 ? sizeof(map) - 1 : 0);
		return;
	}
	data = malloc(in->size);
	got = data ? pread(server->program, data, in->size, (off_t)in->offset) : -1;
	answer(server, unique, got < 0 ? EIO : 0, data, got < 0 ? 0 : (size_t)got);
	free(data);
}

/* 0: there is nothing of that name. */
static uint64_t
find_node(const char *name)
{
	if (strcmp(name, "program") == 0)
		return NODE_PROGRAM;
	return strncmp(name, "perf-", 5) == 0 ? NODE_MAP : 0;
}

static void
answer_lookup(const struct fuse_server *server, uint64_t unique, uint64_t node)
{
	const struct fuse_entry_out out = {.nodeid = node, .attr = attributes(server, node)};

	if (node)
		answer(server, unique, 0, &out, sizeof(out));
	else
		answer(server, unique, ENOENT, NULL, 0);
}

static bool
is_answered(const struct fuse_server *server, const struct fuse_in_header *header, const void *in)
{
	const uint64_t node = header->opcode == FUSE_LOOKUP ? find_node(in) : header->nodeid;

	return !server->is_hung && (header->opcode != server->silent || node != NODE_MAP);
}

static void
answer_request(const struct fuse_server *server, const struct fuse_in_header *header, const void *in)
{
	if (!is_answered(server, header, in))
		return;
	switch (header->opcode) {
	case FUSE_INIT: {
		const struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536};

		answer(server, header->unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_LOOKUP:
		answer_lookup(server, header->unique, find_node(in));
		break;
	case FUSE_GETATTR: {
		const struct fuse_attr_out out = {.attr = attributes(server, header->nodeid)};

		answer(server, header->unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		const struct fuse_open_out out = {.open_flags = FOPEN_KEEP_CACHE};

		answer(server, header->unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_READ:
		answer_read(server, header->unique, header->nodeid, in);
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_ACCESS:
		answer(server, header->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(server, header->unique, ENOSYS, NULL, 0);
		break;
	}
}

/* 0: the file system was unmounted. */
static int
serve_one(const struct fuse_server *server)
{
	struct fuse_in_header header;
	ssize_t got = read(server->device, server->packet, PACKET_SIZE - 1);

	if (got < (ssize_t)sizeof(header))
		return got < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT);
	server->packet[got] = '\0';
	memcpy(&header, server->packet, sizeof(header));
	answer_request(server, &header, server->packet + sizeof(header));
	return 1;
}

static void
serve(struct fuse_server *server, int signals, const char *directory)
{
	struct pollfd fds[] = {{.fd = signals, .events = POLLIN}, {.fd = server->device, .events = POLLIN}};
	struct signalfd_siginfo info;

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents && read(signals, &info, sizeof(info)) == sizeof(info)) {
			if (info.ssi_signo == SIGTERM)
				break;
			server->is_hung = true;
			puts("hung");
			fflush(stdout);
		} else if (fds[1].revents && !serve_one(server)) {
			break;
		}
	}
	umount2(directory, MNT_DETACH);
}

int
main(int argc, char **argv)
{
	struct fuse_server server = {.packet = malloc(PACKET_SIZE)};
	char options[128];
	sigset_t signals;
	int bell;

	if (argc < 3 || argc > 4 || !server.packet)
		return 2;
	for (size_t i = 0; argc == 4 && i < sizeof(questions) / sizeof(questions[0]); i++)
		if (strcmp(argv[3], questions[i].name) == 0)
			server.silent = questions[i].opcode;
	if (argc == 4 && !server.silent)
		return 2;
	server.program = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (server.program < 0 || fstat(server.program, &server.status) != 0)
		return die(argv[1]);
	server.device = open_device();
	if (server.device < 0)
		return die("/dev/fuse");
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	bell = signalfd(-1, &signals, SFD_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", server.device);
	if (mount("hung_mount", argv[2], "fuse.hung_mount", MS_NOSUID | MS_NODEV, options) != 0)
		return die(argv[2]);
	puts("ready");
	fflush(stdout);
	serve(&server, bell, argv[2]);
	return 0;
}
