// The public client of MCP tasks, against the server at the address given: an answer, a form, and a task that is cancelled.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";

const [address, token] = process.argv.slice(2);
const own = { Authorization: `Bearer ${token}` };
const clientInfo = { name: "tasks-test", version: "1" };
const protocolVersion = "2026-07-28";
const tell = (event) => console.log(JSON.stringify(event));

/** The SDK refuses results of extensions, so requests about tasks are sent here. */
function sending(headers) {
  let sent = 0;
  return async (request) => {
    const body = { jsonrpc: "2.0", id: `raw-${++sent}`, ...request };
    tell({ sent: body.method });
    const response = await fetch(address, {
      method: "POST",
      body: JSON.stringify(body),
      headers: {
        ...own,
        ...headers,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": protocolVersion,
        "Mcp-Method": body.method,
        "Mcp-Name": body.params.name ?? body.params.taskId,
      },
    });
    const text = await response.text();
    const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
    const messages = lines.length ? lines.map((line) => line.slice(6)) : [text];
    return messages.map((each) => JSON.parse(each)).find((message) => message.id === body.id);
  };
}

async function connected(headers, clientCapabilities, onInputRequest) {
  const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: protocolVersion } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers: own } }));
  return createTaskSessionFromClient(client, {
    endpointId: "upcall",
    rawDispatch: sending(headers),
    v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
    onInputRequest,
  });
}

async function answered(session, question) {
  const execution = await session.callTool("ask_human", { question, options: ["Redis", "None"] });
  const { outcome } = await execution.settle();
  tell({ result: resultFromTaskOutcome(outcome) });
}

const plain = await connected({}, {});
await answered(plain, "Which cache?");

const attended = await connected({ "Upcall-Person": "here" }, { elicitation: {} }, async (request) => {
  tell({ asked: request.params });
  return { action: "accept", content: { answer: "None" } };
});
await answered(attended, "Which queue?");

const execution = await plain.callTool("ask_human", { question: "Which index?" });
await execution.cancel();
tell({ cancelled: true });
await plain.close();
await attended.close();
process.exit(0);
