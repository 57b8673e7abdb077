#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The examples for NotifyProgram, run as the service runs them, for a node that
# calls itself as it likes: a mail reaches a server by a real mailer, a post a
# web server; names are in no header and no markup.

. "$(dirname "$0")/lib.sh"
need python3 msmtp curl jq
teller=$builddir/prolog/test/notify.t
[ -x "$teller" ] || skip_all "built without the service"
workdir
cd "$workdir" || exit 1

# The name of notify.c, as it comes out of the ledger
name='h1??Bcc: <a@example.org>??.?"\$(id)`id`??<!channel>@here&amp;%s [a](http://b.c/d)'

# Servers of loopback, each on a port of its own: ./ports; what they get is a
# line of JSON each in ./mails and ./posts.
cat >servers.py <<'X'
import email, http.server, json, os, socketserver, threading

def keep (name, what):
    with open (name, "a") as fp:
        fp.write (json.dumps (what) + "\n")

class Mail (socketserver.StreamRequestHandler):
    def handle (self):
        to, lines = [], []
        self.wfile.write (b"220 here\r\n")
        for line in self.rfile:
            verb = line[:4].upper ()
            if verb == b"RCPT":
                to.append (line.decode ().strip ())
            if verb == b"DATA":
                self.wfile.write (b"354 go on\r\n")
                for line in iter (self.rfile.readline, b".\r\n"):
                    lines.append (line[1:] if line[:1] == b"." else line)
                text = b"".join (lines).replace (b"\r\n", b"\n")
                mail = email.message_from_bytes (text)
                keep ("mails", { "to": to, "head": dict (mail.items ()),
                                 "longest": max (map (len, lines)),
                                 "body": mail.get_payload () })
            self.wfile.write (b"250 well\r\n")
            if verb == b"QUIT":
                return

class Post (http.server.BaseHTTPRequestHandler):
    def do_POST (self):
        text = self.rfile.read (int (self.headers["Content-Length"]))
        keep ("posts", { "path": self.path, "body": json.loads (text),
                         "type": self.headers["Content-Type"] })
        self.send_response (500 if self.path == "/bad" else 204)
        self.end_headers ()

    def log_message (self, *args):
        pass

ports = []
for handler in Mail, Post:
    server = socketserver.ThreadingTCPServer (("127.0.0.1", 0), handler)
    ports.append (server.server_address[1])
    threading.Thread (target=server.serve_forever).start ()
with open ("ports.new", "w") as fp:
    print (*ports, file=fp)
os.rename ("ports.new", "ports")
X
python3 servers.py 2>servers.log &
cleanup kill $!
within 10 [ -s ports ] ||
    { ok 1 servers; diag "$(<servers.log)"; done_testing; }
read -r smtp http <ports

# adapt NAME SED: an example, as a site changes it, in $copy.
adapt ()
{
    copy=$workdir/$1
    sed "$2" "$srcdir/contrib/notify/$1" >"$copy"
    chmod 755 "$copy"
}

cat >mailer <<X
#!/bin/sh
exec msmtp -C $workdir/msmtprc "\$@"
X
chmod 755 mailer
printf '%s\n' 'account default' 'host 127.0.0.1' "port $smtp" \
    'from pmm@example.org' >msmtprc
adapt pmm-notify-mail "s|^to=.*|to=staff@example.org|
    s|^mailer=.*|mailer=$workdir/mailer|"
"$teller" "$copy" 2>log
is "$? $(<log)" "0 " "the service tells a drain and a digest by mail"
mail () { jq -s "$@" mails; }
is "$(mail -c 'map (.to)')" \
    '[["RCPT TO:<staff@example.org>"],["RCPT TO:<staff@example.org>"]]' \
    "... to staff, and nobody else"
is "$(mail -r '.[0].head | [.To, .Subject] | join ("|")')" \
    "staff@example.org|pmm: drain on $(hostname)" "... which says of what"
is "$(mail -c '.[0].head | keys - ["Date", "From", "Message-ID"]')" \
    '["Auto-Submitted","Subject","To"]' "... with no header of a name's"
is "$(mail -r '.[0].body | split ("\n\n")[0]' | cut -c -90)" \
    "$name was drai" \
    "... the sentence is text"
is "$(mail -r '.[0].body | split ("\n\n")[1]' | tr -d '\n' |
    jq -r '.event, .node')" "$(printf '%s\n' drain "$name")" \
    "... so it is in the event's JSON"
[ "$(mail 'map (.longest) | max')" -le 998 ]
ok $? "... no line is too long for mail"

adapt pmm-notify-webhook "s|^url=.*|url=http://127.0.0.1:$http/hook|"
"$teller" "$copy" 2>log
is "$? $(<log)" "0 " "... and by a webhook"
is "$(jq -s -c 'map ([.path, .type, (.body | keys)])[]' posts | uniq -c |
    tr -s ' ')" ' 2 ["/hook","application/json",["text"]]' \
    "... as a chat takes it"
posted=$(jq -s -r '.[0].body.text' posts)
is "${posted%% was *}" "\`pmm: drain: h1??Bcc: &lt;a(at)example.org&gt;??.?\"\\\$(id)\
'id'??&lt;!channel&gt;(at)here&amp;amp;%s [a] (http: //b.c/d)" \
    "... without links, markup or mentions"
is "${posted//[^\`]/} ${posted:0:1}${posted: -1}" '`` ``' "... as code"
rm posts
adapt pmm-notify-webhook "s|^url=.*|url=http://127.0.0.1:$http/|
    s|^json=.*|json=1|"
"$teller" "$copy" 2>log
is "$? $(jq -s -r '.[0].body | .kind, .event' posts)" $'0 pmm-event\ndrain' \
    "... or as the event itself"
adapt pmm-notify-webhook "s|^url=.*|url=http://127.0.0.1:$http/bad|"
"$teller" "$copy" 2>log
like "$(<log)" \
    'NotifyProgram for drain .*: it ended with status 22: curl: .* 500' \
    "what goes wrong is logged"

done_testing
