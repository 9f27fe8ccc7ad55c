#include "net/socket_bytes.h"

#include <linux/tcp.h> /* the C library's tcp_info ends before the counts of bytes */
#include <netinet/in.h>
#include <sys/socket.h>

struct socket_bytes socket_bytes(int fd)
{
    struct tcp_info info = { 0 }; /* an older kernel fills less of it */
    socklen_t len = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
        return (struct socket_bytes){ 0 };
    return (struct socket_bytes){
        .received = info.tcpi_bytes_received,
        .sent = info.tcpi_bytes_sent - info.tcpi_bytes_retrans,
    };
}
