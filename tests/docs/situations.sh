# Situations that the remarks above the pages' examples can ask for; each prints what stands for `a7` or `42` there.

# A request that is refused has failed.
curl() { command curl --fail-with-body "$@"; }

api() {
  local role=$1 path=$2 body=${3-}
  local home=${UPCALL_HOME:-$HOME/.local/share/upcall}
  [ -e "$home/run.json" ] || upcall status > /dev/null
  curl -s "http://127.0.0.1:$(cat "$home/port")$path" -H "Authorization: Bearer $(cat "$home/$role.token")" ${body:+-d "$body"}
}

# As much of a picture as its kind is told by.
a_picture() { printf '\211PNG\r\n\032\n'; }

# The ref of an open question that no call waits for.
asked() {
  local question=$1 options=() multi=false approval=false ttl=
  shift
  while [ $# != 0 ]; do
    case $1 in
      -o) options+=("$2"); shift ;;
      --ttl) ttl=$2; shift ;;
      --multi) multi=true ;;
      --approval) approval=true ;;
      *) return 1 ;;
    esac
    shift
  done
  api agent /v1/inquiries "$(
    jq -n --arg question "$question" --arg ttl "$ttl" --argjson multi $multi --argjson approval $approval '
      {question: $question} + if $ARGS.positional == [] then {} else {options: $ARGS.positional, multiSelect: $multi} end
      + if $approval then {kind: "approval"} else {} end + if $ttl == "" then {} else {ttl: $ttl} end
    ' --args "${options[@]}"
  )" | jq -r .ref
}

asked_two() { api agent /v1/inquiries '{"questions": [{"question": "Is it live?"}, {"question": "Where?"}]}' | jq -r .ref; }

asked_form() {
  api agent /v1/inquiries '{"question": "Which port?", "response_schema": {"type": "object", "properties": {"port": {"type": "integer"}}}}' |
    jq -r .ref
}

# The same, of the agent that the page has made a token for.
asked_by_api() {
  curl -s "$URL/v1/inquiries" -H "Authorization: Bearer $AGENT" \
    -d '{"question": "Which cache?", "options": ["Redis", "Memcached"]}' | jq -r .ref
}

a_plan() {
  api agent /v1/inquiries '{"kind": "plan", "question": "Shall this plan be carried out?", "context": "# Cache\n\n1. Install Redis\n2. Write cache.txt"}' \
    | jq -r .ref
}

acting() {
  api agent /v1/inquiries '{"action": {"tool": "Bash", "input": {"command": "npm test"}, "cwd": "/home/ana/project"}}' \
    | jq -r .ref
}

expired() {
  local ref
  ref=$(asked "$@" --ttl 1)
  upcall wait "$ref" > /dev/null 2>&1
  [ $? = 11 ] && echo "$ref"
}

# An answered question of an agent that reads messages.
answered_in_thread() {
  local ref
  ref=$(api agent /v1/inquiries '{"question": "Which cache?", "thread": "shop"}' | jq -r .ref)
  upcall answer "$ref" Redis > /dev/null && echo "$ref"
}

rule() {
  upcall rules add --agent claude --prefix "npm test" --directory /home/ana/project --for 7d --json | jq -r .id
}

# The numbers of runs: one that asks, one that is over, one that has failed.
asking_run() {
  local run
  run=$(upcall run claude "Add a cache to the API") || return
  until_it_asks "$run" && echo "$run"
}

until_it_asks() {
  local after=0
  until [ "$(api owner "/v1/runs/$1" | jq -r .state)" = waiting_input ]; do
    after=$(api owner "/v1/events?after=$after&wait=20" | jq -r .next_after) || return
  done
}

# The number of the latest run, once its question is answered and it is over.
ended_run() {
  local run
  run=$(api owner "/v1/runs?limit=1" | jq -r '.items[0].number')
  until_it_asks "$run" && upcall answer "$run" Redis > /dev/null && upcall log "$run" -f > /dev/null && echo "$run"
}

finished_run() {
  local run
  # One for the whole page: it changes no more.
  [ -e ~/finished ] && cat ~/finished && return
  run=$(asking_run) || return
  upcall answer "$run" Redis > /dev/null
  upcall log "$run" -f > /dev/null && echo "$run" | tee ~/finished
}

failed_run() {
  local run
  run=$(asking_run) || return
  upcall cancel "$run" > /dev/null
  upcall log "$run" -f > /dev/null; echo "$run"
}

# The ref of a question that a call waits for.
waited_for() {
  upcall ask "$@" > ~/answer 2> ~/asked &
  until api owner /metrics | grep -q '^upcall_waiting_callers [1-9]'; do :; done
  sed -n 's/^Asked \([a-z0-9]*\)\..*/\1/p' ~/asked
}

# The prompt of a question in the page's thread; the agent has the answer of the one before.
in_thread() {
  [ -e ~/inquiry ] && curl -s -X POST "$URL/v1/inquiries/$(cat ~/inquiry)/collect" -H "Authorization: Bearer $AGENT" > ~/collected
  curl -s "$URL/v1/inquiries" -H "Authorization: Bearer $AGENT" \
    -d '{"question": "Which cache?", "options": ["Redis"], "thread": "shop-42"}' > ~/prompt
  jq -r .id ~/prompt > ~/inquiry
  echo "prm_$(cat ~/inquiry)"
}
