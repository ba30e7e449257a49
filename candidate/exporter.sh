#!/bin/sh
# Export what was committed in this workspace: what `git candidate export` does, byte for byte, with
# git, sh and POSIX utilities alone. Run by the producer, inside of its sandbox:
#
#     cd /workspace && sh /export/export.sh [EXPORT FOLDER]
#
# The export folder is the one that this script lies in. candidate/export.py tells why the steps are
# taken in this order, candidate/workspace.py why git is set so; the exit status is a class of both.
set -eufC
umask 022
export LC_ALL=C

folder=${1:-$0}
[ $# -gt 0 ] || case $folder in */*) folder=${folder%/*} ;; *) folder=. ;; esac
case $folder in -*) folder=./$folder ;; esac
up=. artifact='' told=''

refuse() { # CLASS CODE MESSAGE REMEDY
    told=yes
    printf 'git candidate: %s: %s\n  %s\n' "$2" "$3" "$4" >&2
    exit "$1"
}

# Nothing stays that is not whole. What ends this without a word of ours has complained itself, and
# its status is none of our classes.
leave() {
    status=$?
    trap - EXIT
    [ -z "$artifact" ] || rm -f "$folder/tmp_$artifact" "$folder/tmp_manifest.json" || :
    [ -n "$told" ] || { printf 'git candidate: nothing was exported\n' >&2; status=6; }
    exit "$status"
}
trap leave EXIT
trap 'exit 6' HUP INT TERM

run() {
    env -i PATH="$PATH" ${TMPDIR+TMPDIR="$TMPDIR"} LC_ALL=C GIT_CONFIG_NOSYSTEM=1 \
        GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 \
        GIT_NO_REPLACE_OBJECTS=1 GIT_OPTIONAL_LOCKS=0 GIT_NO_LAZY_FETCH=1 GIT_GRAFT_FILE=/dev/null \
        git -C "$up" --no-replace-objects -c 'safe.directory=*' \
        -c advice.graftFileDeprecated=false -c core.commitGraph=false -c core.hooksPath=/dev/null \
        -c core.fsmonitor=false -c core.excludesFile=/dev/null -c core.attributesFile=/dev/null \
        -c core.quotePath=true -c diff.autoRefreshIndex=true -c core.compression=6 \
        -c pack.compression=6 -c pack.window=10 -c pack.depth=50 -c pack.packSizeLimit=0 \
        -c pack.allowPackReuse=false -c pack.usePathWalk=false -c feature.experimental=false \
        -c core.bigFileThreshold=32m -c pack.windowMemory=256m -c pack.deltaCacheSize=64m "$@"
}

# The commit that a revision names, or nothing.
commit() { run rev-parse --verify --quiet --end-of-options "$1^{commit}" || [ $? -eq 1 ]; }

# The value of a field of the ticket; it has no quotes and no backslashes.
field() { sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p' "$folder/ticket.json"; }

# Lines as strings of JSON with commas between them.
strings() { printf '%s\n' "$1" | sed '/^$/d; s/[\\"]/\\&/g; s/.*/"&"/' | paste -s -d , -; }

count() { printf '%s\n' "$1" | sed '/^$/d' | wc -l; }

words() { printf '%s' "$*"; }

# What a file holds, or the names in a folder, is on the disk; where there is a utility for that.
durable() { sync "$1" 2> /dev/null || :; }

digest() { $sha256 | cut -c 1-64; }

# FIPS 180-4. awk has no operations on bits: XOR is looked up byte by byte, and a AND b is
# (a + b - (a XOR b)) / 2. Every number is exact, being less than 2^53.
awk_sha256() {
    od -A n -v -t u1 | awk '
    function differ(a, b,  c, d) {
        c = int(a / 65536); a %= 65536; d = int(b / 65536); b %= 65536
        return X[int(c / 256) * 256 + int(d / 256)] * 16777216 \
            + X[c % 256 * 256 + d % 256] * 65536 \
            + X[int(a / 256) * 256 + int(b / 256)] * 256 + X[a % 256 * 256 + b % 256]
    }
    function both(a, b) { return (a + b - differ(a, b)) / 2 }
    function right(x, n) { return int(x / P[n]) + x % P[n] * P[32 - n] }
    function turns(x, i, j, k) { return differ(differ(right(x, i), right(x, j)), right(x, k)) }
    function block(  t, i, s, v, one, two) {
        for (t = 16; t < 64; t++) {
            s = W[t - 15]; v = W[t - 2]
            one = differ(differ(right(s, 7), right(s, 18)), int(s / 8))
            two = differ(differ(right(v, 17), right(v, 19)), int(v / 1024))
            W[t] = (W[t - 16] + one + W[t - 7] + two) % M
        }
        for (i = 1; i <= 8; i++) V[i] = H[i]
        for (t = 0; t < 64; t++) {
            s = V[5]; v = V[1]
            one = V[8] + turns(s, 6, 11, 25) + K[t + 1] + W[t]
            one += differ(V[7], both(s, differ(V[6], V[7])))
            two = turns(v, 2, 13, 22) + both(v, V[2]) + both(V[3], differ(v, V[2]))
            for (i = 8; i > 1; i--) V[i] = V[i - 1]
            V[5] = (V[5] + one) % M; V[1] = (one + two) % M
        }
        for (i = 1; i <= 8; i++) H[i] = (H[i] + V[i]) % M
    }
    function take(byte,  w) {
        w = int(n % 64 / 4)
        W[w] = W[w] % 16777216 * 256 + byte
        if (++n % 64 == 0) block()
    }
    BEGIN {
        M = 4294967296
        for (i = P[0] = 1; i <= 56; i++) P[i] = P[i - 1] * 2
        for (i = 0; i < 256; i++) for (j = 0; j < 256; j++)
            X[i * 256 + j] = X[int(i / 2) * 256 + int(j / 2)] * 2 + (i + j) % 2
        split("1779033703 3144134277 1013904242 2773480762 1359893119 2600822924 528734635 \
1541459225", H)
        split("1116352408 1899447441 3049323471 3921009573 961987163 1508970993 2453635748 \
2870763221 3624381080 310598401 607225278 1426881987 1925078388 2162078206 2614888103 3248222580 \
3835390401 4022224774 264347078 604807628 770255983 1249150122 1555081692 1996064986 2554220882 \
2821834349 2952996808 3210313671 3336571891 3584528711 113926993 338241895 666307205 773529912 \
1294757372 1396182291 1695183700 1986661051 2177026350 2456956037 2730485921 2820302411 3259730800 \
3345764771 3516065817 3600352804 4094571909 275423344 430227734 506948616 659060556 883997877 \
958139571 1322822218 1537002063 1747873779 1955562222 2024104815 2227730452 2361852424 2428436474 \
2756734187 3204031479 3329325298", K)
    }
    { for (f = 1; f <= NF; f++) take($f) }
    END {
        size = n * 8
        take(128)
        while (n % 64 != 56) take(0)
        for (i = 56; i >= 0; i -= 8) take(int(size / P[i]) % 256)
        for (i = 1; i <= 8; i++) printf "%04x%04x", int(H[i] / 65536), H[i] % 65536
        printf "\n"
    }'
}

# Hexadecimal digits as escapes of printf, each byte XOR the second argument.
escapes() {
    rest=$1
    while [ -n "$rest" ]; do
        tail=${rest#??}
        printf '\\%03o' $((0x${rest%"$tail"} ^ $2))
        rest=$tail
    done
}

# The ticket is read, and spelt again: one spelling is right.
[ -f "$folder/ticket.json" ] || refuse 5 ticketMissing 'there is no ticket.json' \
    'Give the export folder of the launch, with --to; in the sandbox it is /export.'
subject=
for name in issue run phase launch repository object_format base; do
    subject=$subject,'"'$name'":"'$(field $name)'"'
done
format=$(field object_format) base=$(field base) name=$(field artifact) key=$(field key)
[ "{\"format\":\"packcheck.ticket/1\"$subject,\"artifact\":\"$name\",\"key\":\"$key\"}" = \
    "$(cat "$folder/ticket.json")" ] || refuse 1 recordInvalid 'the ticket is not spelt as one' \
    'Run the export again; nothing in this manifest can be trusted.'

command -v git > /dev/null || refuse 6 gitFailed 'git cannot be started: there is none in PATH' \
    'Try again; the artifact is kept, and nothing half done is visible.'
place='Run it in the workspace of the launch; in the sandbox it is /workspace.'
inside=$(run rev-parse --is-inside-work-tree --show-cdup 2>&1) ||
    { [ $? -eq 128 ] && refuse 2 noWorkspace "$(words $inside)" "$place"; exit 6; }
[ "${inside#true}" != "$inside" ] || refuse 2 noWorkspace 'the folder lies in no work tree' "$place"
# git lists new files of the folder that it runs in, and of no other.
up=./$(printf '%s\n' "$inside" | sed -n 2p)

tip=$(commit HEAD)
[ -n "$tip" ] || refuse 2 tipUnknown 'HEAD is no commit of the workspace' \
    'Commit the work first, or name a branch or a commit.'
there=$(commit "$base") no=0
[ -n "$there" ] && run merge-base --is-ancestor "$base" "$tip" > /dev/null || no=$?
[ "$no" -ne 1 ] || refuse 3 notOnBase "HEAD does not descend from $base" \
    'Rebase the work onto the base; another base needs another launch.'
[ "$no" -eq 0 ] # else git has said why not, and this ends
commits=$(run rev-list --topo-order --reverse "$base..$tip")
number=$(($(count "$commits")))
[ "$number" -le 10000 ] || refuse 4 exportTooLarge \
    "there are $number commits, and a manifest lists 10000" 'Squash commits that belong together.'

changed=$(run diff --name-only --no-renames --no-relative --no-ext-diff --no-textconv \
    --ignore-submodules=dirty HEAD --)
new=$(run ls-files --others --exclude-standard)
paths=$(printf '%s\n%s\n' "$changed" "$new" | sed '/^$/d' | sort -u)
listed=$(printf '%s\n' "$paths" | awk 'length($0) <= 16400 && n++ < 100')
dirty=$(($(count "$paths"))) also=''
[ "$dirty" -eq 0 ] || also="; uncommitted paths: $dirty"
[ "$number" -gt 0 ] || refuse 5 nothingToExport "HEAD is the base$also" \
    'Commit the work; what is not committed is never exported.'

if command -v sha256sum; then sha256=sha256sum
elif command -v shasum; then sha256='shasum -a 256'
elif command -v openssl; then sha256='openssl dgst -sha256 -r'
else
    sha256=awk_sha256
    printf 'git candidate: awk makes the digests, some seconds for each 100 KB\n' >&2
fi > /dev/null

# The artifact: a header of our own, and a whole pack.
artifact=$name bundle=$folder/tmp_$name manifest=$folder/tmp_manifest.json
rm -f "$bundle" "$manifest"
first='# v2 git bundle'
[ "$format" = sha1 ] || first=$(printf '# v3 git bundle\n@object-format=%s' "$format")
printf '%s\n' "$first" "-$base " "$tip refs/heads/candidate" '' > "$bundle"
header=$(($(wc -c < "$bundle")))
printf '%s\n^%s\n' "$tip" "$base" | run pack-objects --revs --stdout --delta-base-offset \
    --no-reuse-delta --no-reuse-object --no-use-bitmap-index --no-sparse --threads=1 -q >> "$bundle"
durable "$bundle"
size=$(($(wc -c < "$bundle"))) sum=$(digest < "$bundle")
# The four bytes behind "PACK" and the version.
set -- $(od -A n -t u1 -j $((header + 8)) -N 4 "$bundle")
objects=$(((($1 * 256 + $2) * 256 + $3) * 256 + $4))

# The manifest. HMAC: the key, filled up to 64 bytes with zeros, goes before the message and before
# its digest. (printf is a part of the shell, so no list of processes shows the key.)
{
    printf '{"format":"packcheck.manifest/1"%s,"candidate":"%s",' "$subject" "$tip"
    printf '"artifact":{"name":"%s","bytes":%d,"sha256":"%s","objects":%d},' \
        "$artifact" "$size" "$sum" "$objects"
    printf '"commits":[%s],"state":"offered",' "$(strings "$commits")"
    printf '"workspace":{"dirty":%d,"paths":[%s]}' "$dirty" "$(strings "$listed")"
} > "$manifest"
key=$key$(printf '%064d' 0)
inner=$({ printf "$(escapes "$key" 0x36)"; cat "$manifest"; } | digest)
mac=$({ printf "$(escapes "$key" 0x5c)"; printf "$(escapes "$inner" 0)"; } | digest)
printf ',"mac":"%s"}\n' "$mac" >> "$manifest"
[ "${#sum} ${#inner} ${#mac}" = '64 64 64' ] # else a digest could not be made
durable "$manifest"

# Both get their names. From the first removal on no manifest speaks of the old artifact; the second
# is there so that mv moves nothing into a folder.
rm -f "$folder/manifest.json"
durable "$folder/"
rm -f "$folder/$artifact"
mv -f "$bundle" "$folder/$artifact"
durable "$folder/"
mv -f "$manifest" "$folder/manifest.json"
durable "$folder/"
told=yes

printf 'exported candidate %s\n  %d commits, %d objects, %d bytes\n' \
    "$tip" "$number" "$objects" "$size"
[ "$dirty" -eq 0 ] || printf '%d uncommitted paths are NOT exported:\n' "$dirty"
printf '%s\n' "$listed" | sed '/^$/d; s/^/  /'
more=$((dirty - $(count "$listed")))
[ "$more" -eq 0 ] || printf '  and %d more\n' "$more"
