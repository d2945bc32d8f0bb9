/** Runs a case through a server, on whatever its runtime environment is. */
import { EngineEvent, FeedItem, Build, type Client } from '@windlass/protocol'
import { z } from 'zod'
import type { Case } from './case.ts'
import { toProblems } from './local.ts'
import { Observation, type Observed } from './observed.ts'

export interface ServerPlace {
  readonly client: Client
  readonly variables: Readonly<Record<string, string>>
  /** Resolves when a build that has ended has given back its disk. */
  readonly settled: () => Promise<void>
}

/** Runs all builds of the case and tells what was seen of the last. Several builds belong to one pipeline, so that they share its volume. */
export async function runCaseOnServer(of: Case, { client, variables, settled }: ServerPlace): Promise<Observed> {
  const { inputs } = of
  const pipeline = inputs.builds > 1 ? `conformance/${of.name}` : undefined
  if (pipeline !== undefined)
    await client.call('POST', '/v1/pipelines', z.unknown(), { body: { name: pipeline, document: of.text } })
  const body = {
    ...(pipeline === undefined ? { document: of.text, file: 'pipeline.yml' } : { pipeline }),
    ...(inputs.branch !== undefined && { branch: inputs.branch }),
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

async function runOnce({ inputs }: Case, client: Client, body: object): Promise<Observed> {
  const { id } = await client.call('POST', '/v1/builds', Build, { body })
  const seen = new Observation()
  let isCancelled = false
  const answered = new Set<string>()
  for await (const { event, data } of client.events(`/v1/builds/${id}/follow`, { query: { after: 0 } })) {
    if (event === 'end') break
    const item = FeedItem.parse(JSON.parse(data))
    if (item.kind === 'log') seen.output(item.stream, Buffer.from(item.bytes, 'base64'))
    else {
      const told = EngineEvent.safeParse({ ...item.data, type: item.type, at: item.at, seq: 1 })
      if (told.success) seen.event(told.data, item.attempt)
    }
    const { cancel } = inputs
    if (cancel !== undefined && !isCancelled && seen.logOf(cancel.step).includes(cancel.text)) {
      isCancelled = true
      await client.call('POST', `/v1/builds/${id}/terminate`, z.unknown(), { body: {} })
    }
    for (const { step, kind } of seen.facts) {
      if (kind !== 'waiting' || answered.has(step)) continue
      answered.add(step)
      if (inputs.approve.includes(step)) await client.call('POST', `/v1/builds/${id}/approve`, z.unknown(), { body: { step } })
      if (inputs.deny.includes(step)) await client.call('POST', `/v1/builds/${id}/deny`, z.unknown(), { body: { step } })
    }
  }
  const build = await client.call('GET', `/v1/builds/${id}`, Build)
  const isInvalid = build.reason === 'invalid-pipeline'
  return seen.result({
    status: isInvalid ? 'invalid' : build.status,
    ...(!isInvalid && build.reason !== undefined && { reason: build.reason }),
    problems: isInvalid ? toProblems(build.problems) : [],
  })
}
