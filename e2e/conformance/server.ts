/** Runs a case through a server, on any runtime environment. */
import { defined } from '@windlass/kit/defined'
import type { ApiClient } from '@windlass/client'
import { EngineEvent, FeedItem } from '@windlass/protocol'
import type { Case } from './case.ts'
import { toProblems } from './local.ts'
import { Observation, type Observed } from './observed.ts'

export interface ServerContext {
  readonly client: ApiClient
  readonly variables: Readonly<Record<string, string>>
  /** Resolves when an ended build has released its disk. */
  readonly settled: () => Promise<void>
}

/** Runs all builds of the case and returns what was observed of the last. Several builds belong to one pipeline, so that they share its volume. */
export async function runCaseOnServer(of: Case, { client, variables, settled }: ServerContext): Promise<Observed> {
  const { inputs } = of
  const pipeline = inputs.builds > 1 ? `conformance/${of.name}` : undefined
  if (pipeline !== undefined) await client.pipelines.create({ name: pipeline, document: of.text })
  const body = {
    ...(pipeline === undefined ? { document: of.text, file: 'pipeline.yml' } : { pipeline }),
    ...defined({ branch: inputs.branch }),
    variables: { ...variables, ...inputs.variables },
    secrets: inputs.secrets,
    only: inputs.only,
    skip: inputs.skip,
    noCache: inputs.noCache,
    resetVolume: inputs.resetVolume,
  }
  for (let build = 1; build < inputs.builds; build += 1) {
    await runOnce(of, client, body)
    await settled()
  }
  return runOnce(of, client, body)
}

async function runOnce({ inputs }: Case, client: ApiClient, body: object): Promise<Observed> {
  const { id } = await client.builds.create(body)
  const seen = new Observation()
  let isCancelled = false
  const answered = new Set<string>()
  for await (const { event, data } of client.builds.follow(id, { query: { after: 0 } })) {
    if (event === 'end') break
    const item = FeedItem.parse(JSON.parse(data))
    if (item.kind === 'log') seen.output(item.stream, Buffer.from(item.bytes, 'base64'))
    else {
      const parsed = EngineEvent.safeParse({ ...item.data, type: item.type, at: item.at, seq: 1 })
      if (parsed.success) seen.event(parsed.data, item.attempt)
    }
    const { cancel } = inputs
    if (cancel !== undefined && !isCancelled && seen.logOf(cancel.step).includes(cancel.text)) {
      isCancelled = true
      await client.builds.terminate(id)
    }
    for (const { step, kind } of seen.facts) {
      if (kind !== 'waiting' || answered.has(step)) continue
      answered.add(step)
      if (inputs.approve.includes(step)) await client.builds.approve(id, { step })
      if (inputs.deny.includes(step)) await client.builds.deny(id, { step })
    }
  }
  const build = await client.builds.get(id)
  const isInvalid = build.reason === 'invalid-pipeline'
  return seen.result({
    status: isInvalid ? 'invalid' : build.status,
    ...(!isInvalid && build.reason !== undefined && { reason: build.reason }),
    problems: isInvalid ? toProblems(build.problems) : [],
  })
}
