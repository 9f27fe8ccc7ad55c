/* test/tools/replay.c: main() for a fuzzer in a tree without libFuzzer: runs it once over each file, or each file of a
 * directory, that it is given. A crash or a sanitizer's report is the failure. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

static void replay_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    uint8_t *bytes;
    size_t have = 0;
    ssize_t n = 0;

    if (fd < 0 || fstat(fd, &st) != 0) {
        fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    /* Exactly as long as the input, so that AddressSanitizer sees a read past its end. */
    bytes = xmalloc((size_t)st.st_size);
    while (have < (size_t)st.st_size && (n = read(fd, bytes + have, (size_t)st.st_size - have)) > 0)
        have += (size_t)n;
    close(fd);
    LLVMFuzzerTestOneInput(bytes, have);
    free(bytes);
    replayed++;
}

static void replay(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *e;

    if (dir == NULL) {
        replay_file(path);
        return;
    }
    while ((e = readdir(dir)) != NULL) {
        char *inside;

        if (e->d_name[0] == '.')
            continue;
        inside = xasprintf("%s/%s", path, e->d_name);
        replay(inside);
        free(inside);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%s: %u inputs\n", argv[0], replayed);
    return 0;
}
