/**
 * The fake cluster of the driver, used by agents in other processes, so that killing an agent does not affect the engines, as in a real cluster.
 * Contains both ends of a few calls over loopback HTTP. Bodies are JSON; facts are JSON lines in one long response.
 */
import http from 'node:http'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { AttemptRef, Executor, ExecutorContext, OpenExecutor } from '@windlass/agent'
import type { FakeCluster } from '../../support/fake-engines/index.ts'
import { fault, nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { AgentFact, Task } from '@windlass/protocol'
import { z } from 'zod'

const Fact = AgentFact.omit({ seq: true, at: true })
const Refs = z.array(z.object({ buildId: z.string(), attempt: z.int() }))

export interface ClusterDoor extends AsyncDisposable {
  readonly url: string
  /** Attempts with remaining objects. */
  attempts(): Promise<readonly AttemptRef[]>
}

/** Opens the cluster for agents. Facts go to the agent that opened its stream last. */
export async function openClusterDoor(cluster: FakeCluster): Promise<ClusterDoor> {
  let executor: Executor = cluster.executor({ report: () => undefined, clock: systemClock, log: silentLog })
  const server = http.createServer((request, response) => {
    if (request.url === '/facts') {
      response.writeHead(200).flushHeaders()
      executor = cluster.executor({
        report: (fact) => void response.write(`${JSON.stringify(fact)}\n`),
        clock: systemClock,
        log: silentLog,
      })
      return
    }
    void answer(request, executor).then(
      (body) => response.end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    attempts: () => executor.attempts(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

async function answer(request: http.IncomingMessage, executor: Executor): Promise<unknown> {
  const signal = AbortSignal.timeout(60_000)
  if (request.url === '/attempts') return executor.attempts()
  const task = Task.parse(JSON.parse(await text(request)))
  if (task.kind === 'start-attempt') await executor.start(task, signal)
  else await executor.stop(task, signal)
  return {}
}

/** The executor of an agent in another process than its cluster. */
export function remoteExecutor(url: string): OpenExecutor {
  const transport = nodeTransport()
  return ({ report }: ExecutorContext): Executor => {
    const over = new AbortController()
    void readFacts(url, report, over.signal)
    const send = async (path: string, body: unknown, signal?: AbortSignal): Promise<string> => {
      const call = { method: 'POST' as const, url: url + path, headers: {}, body: JSON.stringify(body), timeoutMs: 60_000 }
      const reply = await transport({ ...call, ...(signal && { signal }) })
      const said = await reply.text()
      if (reply.status !== 200) throw fault('cluster-unreachable', { message: said })
      return said
    }
    return {
      kind: 'fake',
      start: async (task, signal) => void (await send('/start', task, signal)),
      stop: async (task, signal) => void (await send('/stop', task, signal)),
      attempts: async () => Refs.parse(JSON.parse(await send('/attempts', {}))),
      close: async () => over.abort(),
    }
  }
}

async function readFacts(url: string, report: ExecutorContext['report'], signal: AbortSignal): Promise<void> {
  const reply = await nodeTransport()({ method: 'GET', url: `${url}/facts`, headers: {}, signal })
  for await (const line of createInterface({ input: Readable.from(reply.body) })) report(Fact.parse(JSON.parse(line)))
}
