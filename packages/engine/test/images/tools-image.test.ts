/** Tests attempts whose daemon does not have the tools image. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '@windlass/journal'
import { newId, silentLog, systemClock } from '@windlass/kit'
import { EngineEvent, type AttemptOutcome } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAttempt } from '../../src/index.ts'
import { compilePlan, testDocker, toInput } from '../support/run-pipeline.ts'
import { startRegistry, type Registry } from '../support/registry.ts'

let registry: Registry
beforeAll(async () => {
  registry = await startRegistry()
})
afterAll(() => registry[Symbol.asyncDispose]())

async function runWithout(hostFiles: boolean): Promise<AttemptOutcome | undefined> {
  const plan = compilePlan("version: '1.0'\nsteps: {one: {image: $SHELL, commands: [echo one]}}\n", [])
  const buildId = newId(Date.now())
  const dir = await mkdtemp(join(tmpdir(), 'engine-test-'))
  const decode = (value: unknown): EngineEvent => EngineEvent.parse(value)
  const journal = await openJournal<EngineEvent>({ dir, clock: systemClock, limitBytes: 1e9, decode })
  try {
    return await runAttempt({
      input: toInput(plan, buildId),
      docker: await testDocker(),
      journal,
      clock: systemClock,
      log: silentLog,
      signal: new AbortController().signal,
      commands: (async function* () {})(),
      hostFiles,
      toolsImage: `${registry.domain}/windlass/tools:none`,
    })
  } finally {
    await journal.remove()
    await rm(dir, { recursive: true, force: true })
  }
}

test('a daemon without the tools image is lost, so the server retries the build', async () => {
  expect(await runWithout(false)).toMatchObject({
    status: 'error',
    reason: 'dind-lost',
    message: expect.stringMatching(
      /^The Docker daemon of the build does not have the image \S+\/windlass\/tools:none of Windlass\. .*not found/,
    ),
  })
})

test('in a local build the tools image is missing like any other image', async () => {
  expect(await runWithout(true)).toMatchObject({
    status: 'error',
    reason: 'image-not-found',
    message: expect.stringContaining('Build it in a clone with `scripts/images tools`'),
  })
})
