# directives.awk: from what `loligo --print-default-config` prints, the manual page loligo.conf(5). The directive table
# (src/conf/directives.c) is the one source of both.
function escape(s) {
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    if (s ~ /^[.']/)
        s = "\\\&" s
    return s
}
function literal(on) {
    if (on != in_literal)
        print on ? ".nf" : ".fi"
    in_literal = on
}

# What is indented in the table is a list: an item begins a line, what is deeper than it goes on with it. A word with a
# colon in between says what the items under it are for.
function listed(text,    depth, was) {
    match(text, /^ */)
    depth = RLENGTH
    was = list
    list_is(depth > 0 ? (was > 0 ? was : depth) : 0)
    text = escape(substr(text, depth + 1))
    if (depth == 0)
        return (text ~ /^[a-z]+:$/ ? ".br\n" : "") text
    return (depth > list ? "" : ".br\n.ti -2n\n") text
}
function list_is(depth) {
    if (depth > 0 && list == 0)
        print ".in +4n"
    else if (depth == 0 && list > 0)
        print ".br\n.in -4n"
    list = depth
}

BEGIN {
    print ".\\\" Made from the directive table: don't edit."
    print ".TH LOLIGO.CONF 5 \"\" \"Loligo " version "\" \"Loligo\""
    print ".SH NAME\nloligo.conf \\- the directives of Loligo's squid.conf"
    print ".SH SYNTAX"
    print "One directive a line: its name, then its arguments. A # begins a comment; a \\e at the end joins lines;"
    print ".B include"
    print "FILE... reads others. Sizes are written as"
    print ".BR \"64 MB\" ,"
    print "times as"
    print ".BR \"30 seconds\" ."
    print "An error names FILE:LINE:COLUMN; check a file with"
    print ".BR \"loligo \\-k parse \\-f\" \" FILE.\""
    print ".SH DIRECTIVES"
}

/^# == .* ==$/ {
    title = substr($0, 6, length($0) - 8)
    literal(0)
    list_is(0)
    if (title ~ /^in force/) {
        print ".SH EXAMPLE\nWhat the installed file has in force:\n.PP"
        example = 1
        literal(1)
    } else if (title ~ / /) {
        print ".SH OTHER NAMES"
        others = 1
    } else {
        print ".SS " escape(title)
        name = title
    }
    started = 1
    next
}
!started { next }
example { print escape($0); next }
/^$/ { next }
others {
    sub(/^#[ ]*/, "")
    if (/:$/)
        print ".PP\n.B " escape($0) "\n.br"
    else
        print escape($0)
    next
}
/^#   default: / { literal(0); list_is(0); print ".br\nDefault: " escape(substr($0, 14)); next }
/^#   / {
    text = substr($0, 5)
    # How it is written: a line that begins with the name, and what is indented under it.
    usage = index(text, name " ") == 1 || (in_literal && text ~ /^ /)
    literal(usage)
    if (!usage)
        text = listed(text)
    print usage ? escape(text) : text
    next
}
/^# \(/ { print escape(substr($0, 3)) "\n.br"; next }
/^#/ { literal(0); list_is(0); print ".br\nDefault:\n.B " escape(substr($0, 2 + length(name) + 1)); next }

END {
    literal(0)
    print ".SH SEE ALSO\n.BR loligo (8)"
}
