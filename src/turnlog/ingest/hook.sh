#!/bin/sh
# turnlog hook 1
# Keeps what Claude Code tells its hooks: in the spool first, then at the server, which nobody waits for.
# It says nothing and never fails, whatever happens: it must not get in the agent's way.
# The shell that Claude Code starts reads it in, with its path in `turnlog_hook`: that is quicker than another shell.
umask 077
script=${turnlog_hook-$0}
home=${script%/*}
spool=$home/spool

post() {
    line='' token='' answer=''
    read -r line <"$home/server.json"
    read -r token <"$home/server-token"
    url=${line#*\"url\":\"}
    url=${url%%\"*}
    pid=${line#*\"pid\":}
    pid=${pid%%[!0-9]*}
    # A server that was killed leaves its address behind; the token is for nobody else who listens there now.
    kill -0 "$pid" || return
    # Should somebody have taken the file up meanwhile, an upload fails; other options would send nothing instead.
    answer=$(
        printf 'header = "Authorization: Bearer %s"\n' "$token" |
            curl -q --silent --noproxy '*' --connect-timeout 2 --max-time 5 --config - \
                --header 'Content-Type: application/json' --header 'Expect:' \
                --header "X-Turnlog-Delivery: $1" --globoff --request POST --upload-file "$spool/$1.json" \
                --output /dev/null --write-out '%{http_code}' "$url/api/hooks"
    )
    case $answer in
    2??) rm -f "$spool/$1.json" ;;
    esac
}

if [ "$1" = post ]; then
    post "$2"
    exit 0
fi

now=${EPOCHREALTIME-} # in microseconds, where the shell knows it
case $now in
*[.,]*) now=${now%[.,]*}${now#*[.,]}000 ;;
*) now=$(date +%s%N 2>/dev/null) ;;
esac
case $now in
'' | *[!0-9]*) now=$(date +%s 2>/dev/null)000000000 ;; # not every system counts nanoseconds
esac
noise=''
[ -r /proc/sys/kernel/random/uuid ] && read -r noise </proc/sys/kernel/random/uuid
id=$now-$$x${noise%%-*}

{
    [ -d "$spool" ] || mkdir -p "$spool"
    if cat >"$spool/.$id.tmp" && mv "$spool/.$id.tmp" "$spool/$id.json"; then
        if [ -r "$home/server.json" ] && command -v curl; then
            trap '' HUP
            if command -v setsid; then
                setsid /bin/sh "$script" post "$id" </dev/null &
            else
                /bin/sh "$script" post "$id" </dev/null &
            fi
        fi
    else
        rm -f "$spool/.$id.tmp"
        cat # a pipe that nobody reads would be an error for who writes to it
    fi
} >/dev/null 2>&1
exit 0
