"""Commands that try to hide what they run as a secret: none of them may be shown with the payload masked."""

PAYLOAD = "touch PWNED"

HIDING_COMMANDS = (
    "echo '-----BEGIN PRIVATE KEY-----\nComment: '; touch PWNED; echo '\n-----END PRIVATE KEY-----'",
    "echo '-----BEGIN PRIVATE KEY-----'\ntouch PWNED\necho '-----END PRIVATE KEY-----'",
    "echo -----BEGIN PRIVATE KEY-----; touch PWNED; echo -----END PRIVATE KEY-----",
    ": '-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: '$(touch PWNED)'\n-----END PGP PRIVATE KEY BLOCK-----'",
    "cat <<'-----END PRIVATE KEY-----'\n-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\ntouch PWNED",
    "pwd='touch PWNED'; $pwd",
    'password="touch PWNED"; eval "$password"',
    "API_KEY='a1 touch PWNED' sh -c \"${API_KEY#a1 }\"",
    'PASSWORD="x$(touch PWNED)" make',
    'PASSWORD="x`touch PWNED`" make',
    "PASSWORD='x1'\"$(touch PWNED)\" make",
    "curl --password 'a1;touch PWNED'",
    "curl https://u:a1$(touch PWNED)@example.com",
    "token: 'a1b2c3d4$(touch PWNED)'",
    "Authorization: Bearer a1b2c3d4e5f6$(touch PWNED)",
    "password=x1>(touch PWNED) make",
    "password=a1b2c3d4\ttouch PWNED",
    "secret=a1b2c3d4\\\ntouch PWNED",
)

HIDDEN_PROGRAMS = (
    ("pwd=reboot; $pwd", "reboot"),
    ("token=python3.11; $token evil.py", "python3.11"),
    ("token=python3.11; printenv token | sh", "python3.11"),
    ("set --token python3.11; $2 evil.py", "python3.11"),
    ("PWD=swordfish make", "swordfish"),
)
"""A command that runs the value of a variable, and the program that has to stay visible in it."""

_KEY = "sk-ant-touch-PWNED-a1b2c3d4e5f6"

SPLIT_WORDS = (
    f"x={_KEY}; IFS=-; set -- $x; $3 $4",
    f"IFS=-; set -- `echo {_KEY}`; $3 $4",
    f"echo {_KEY} | cut -d- -f3,4 | tr - ' ' | sh",
    f"echo {_KEY} | tr - '\\n' |& tail -n 3 | xargs -n 2 env",
    f"cut -d- -f3,4 --output-delimiter=' ' <(echo {_KEY}) | sh",
    f"echo {_KEY} > key; cut -d- -f3,4 --output-delimiter=' ' key > script; sh script",
    f"echo {_KEY} >/dev/nullx; cut -d- -f3,4 --output-delimiter=' ' /dev/nullx > script; sh script",
    f"echo {_KEY} | cut -d- -f3,4 | tr - ' ' | sort -o script; sh script",
    f"echo {_KEY} | cut -d- -f3,4 | tr - ' ' | uniq - script; sh script",
    "set -- token: touch-PWNED1; IFS=-; $2",
    "x='Authorization: Bearer touch-PWNED1'; x=${x##* }; IFS=-; $x",
    "x=https://touch:PWNED1aa@host; x=${x#*//}; x=${x%@*}; IFS=:; $x",
    "x=https://touch-PWNED1-aaaaaaaaaaaa@host; x=${x#*//}; x=${x%@*}; IFS=-; $x",
    'token=touch-PWNED1 python3 -c \'import os\nos.system(os.environ["token"].replace("-", " "))\'',
    "perl -e 'system split /-/, substr \"token: touch-PWNED1\", 7'",
    'awk \'BEGIN { x = "token: touch-PWNED1"; gsub(/-/, " ", x); system(substr(x, 8)) }\'',
    "echo '-----BEGIN PRIVATE KEY-----\ntouch/PWNED/aaaaaaaaaaaaaaaa' | tail -n 1 | tr / ' ' | sh",
)
"""Commands that take a word with the form of a token apart, and run the pieces."""
