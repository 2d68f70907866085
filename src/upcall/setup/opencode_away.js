// Written by `upcall setup opencode --away`; `upcall setup opencode --remove` takes this file away.
//
// While you are away, the dialogs of this terminal reach you elsewhere, and the first answer counts. For each dialog it starts
// `upcall hook away opencode`, which decides nothing itself and ends at once where Upcall is not running.
import { spawn } from "node:child_process"
import { setTimeout as pause } from "node:timers/promises"

const COMMAND = $COMMAND
const ENVIRONMENT = $ENVIRONMENT
const TRIES = 100

export const UpcallAway = async ({ client, directory }) => {
  if (process.env.UPCALL_RUN) return {}
  // The hooks that wait, by what they wait for, and the sessions that are at work.
  const waiting = new Map()
  const working = new Set()

  const post = (url, body) =>
    client._client.post({ url, body, headers: { "Content-Type": "application/json" }, throwOnError: true })

  const tell = (session, text) =>
    client.session.promptAsync({ path: { id: session }, body: { parts: [{ type: "text", text }] }, throwOnError: true })

  const report = (problem) =>
    client.app.log({ body: { service: "upcall", level: "warn", message: String(problem) } })

  const hook = (name, told, settle) => {
    settled(name)
    const started = spawn(COMMAND[0], COMMAND.slice(1), {
      stdio: ["pipe", "pipe", "ignore"],
      env: { ...process.env, ...ENVIRONMENT },
    })
    waiting.set(name, started)
    let said = ""
    started.stdout.on("data", (part) => (said += part))
    started.stdin.on("error", report)
    started.on("error", report)
    started.on("close", () => {
      if (waiting.get(name) !== started) return // answered in the terminal meanwhile
      waiting.delete(name)
      if (said && settle) settle(JSON.parse(said)).catch(report)
    })
    started.stdin.end(JSON.stringify({ ...told, directory }))
  }

  const settled = (name) => {
    waiting.get(name)?.kill("SIGUSR1")
    waiting.delete(name)
  }

  // The session that a person sees: a subagent has one of its own below it.
  const root = async (session) => {
    const { data } = await client.session.get({ path: { id: session }, throwOnError: true })
    return data.parentID ? root(data.parentID) : session
  }

  // The input of a tool is told a moment after its permission is asked for.
  const inputOf = async (session, tool) => {
    if (!tool) return {}
    for (let tried = 0; tried < TRIES; tried++) {
      const { data } = await client.session.message({ path: { id: session, messageID: tool.messageID } })
      const part = data?.parts?.find((each) => each.callID === tool.callID)
      if (part && part.state.status !== "pending") return part.state.input
      await pause(50)
    }
    throw new Error("the input of a tool was not told, so that its permission stays in the terminal")
  }

  const permission = async (about) => {
    const [session, input] = [await root(about.sessionID), await inputOf(about.sessionID, about.tool)]
    hook(about.id, { type: "permission.asked", about, session, input }, async ({ decision }) => {
      if (decision.remark) await tell(about.sessionID, decision.remark)
      const body = decision.allowed ? { reply: "once" } : { reply: "reject", message: decision.reason }
      await post(`/permission/${about.id}/reply`, body)
    })
  }

  const question = async (about) => {
    const session = await root(about.sessionID)
    hook(about.id, { type: "question.asked", about, session }, async ({ decision }) => {
      if (decision.answers) return post(`/question/${about.id}/reply`, { answers: decision.answers })
      await tell(about.sessionID, decision.reason)
      await post(`/question/${about.id}/reject`, {})
    })
  }

  const finished = async (session) => {
    if ((await root(session)) !== session) return
    const { data } = await client.session.messages({ path: { id: session }, throwOnError: true })
    const last = data.findLast((each) => each.info.role === "assistant")
    if (!last || last.info.error) return
    const words = last.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n\n")
    const told = { type: "session.idle", about: {}, session, words, message: last.info.id }
    hook(session, told, async ({ said }) => tell(session, said))
  }

  const begun = async (session) => {
    settled(session)
    if ((await root(session)) === session) hook(`${session} begun`, { type: "session.busy", about: {}, session })
  }

  const heard = async ({ type, properties: about }) => {
    switch (type) {
      case "permission.asked":
        return permission(about)
      case "question.asked":
        return question(about)
      case "permission.replied":
      case "question.replied":
      case "question.rejected":
        return settled(about.requestID)
      case "session.idle":
        working.delete(about.sessionID)
        return finished(about.sessionID)
      case "session.status":
        if (about.status.type !== "busy" || working.has(about.sessionID)) return
        working.add(about.sessionID)
        return begun(about.sessionID)
    }
  }

  return {
    // opencode does not go on before a plugin has heard an event, so nothing is awaited here.
    event: async ({ event }) => void heard(event).catch(report),
    dispose: async () => waiting.forEach((started) => started.kill("SIGTERM")),
  }
}
