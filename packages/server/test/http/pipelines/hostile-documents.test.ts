/** Expensive documents from callers with the fewest rights, which must not affect other callers. */
import { ApiKeyCreated, Build, EngineDocumentAnswer, HeartbeatAnswer, type Client } from '@windlass/protocol'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const Verdict = z.object({ valid: z.boolean(), problems: z.array(z.looseObject({ message: z.string() })) })

/** About as many steps as fit into a mebibyte. */
const LONGEST = `version: 1\nsteps:\n${Array.from({ length: 6_500 }, (_, n) => `  s${n}: { image: x, commands: [a, b], title: Step ${n} }\n`).join('')}`
/** Documents with as many tokens as allowed. */
const HOSTILE: readonly string[] = [
  `a: [${'{},'.repeat(80_000)}]`,
  `[${','.repeat(240_000)}`,
  `version: 1\nsteps: { a: { image: x, commands: [${'x,'.repeat(120_000)}] } }`,
  LONGEST,
]
/** Limits under which only the number of calls counts, not their bytes. Each document is aborted soon, so that the tests do not wait for it. */
const ROOMY = { bytesAtOnce: 67_108_864, msPerMinute: 600_000, documentMs: 200 }
/** The processes of documents have a low priority, so on a busy machine their calls take minutes. */
const PATIENCE_MS = 300_000
/** A document that is too large for the event loop, but cheap. */
const LARGER = `version: 1\nsteps:\n${Array.from({ length: 300 }, (_, n) => `  s${n}: { image: x, title: Step ${n} }\n`).join('')}`

const IN_A_REPOSITORY =
  'version: 1\nkind: pipeline\nmetadata: {name: a/b}\nspec:\n  specTemplate: {location: git, repo: a/b, path: p.yml, revision: main}\n'

async function keyOf(scene: HttpScene, role: 'viewer' | 'developer', name: string): Promise<Client> {
  const { token } = await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name, role } })
  return scene.nobody.withToken(token)
}

/** Resolves with true if the document was processed, with false if it was too expensive. */
const attempt = (client: Client, document: string): Promise<boolean> =>
  validate(client, document).then(
    () => true,
    (error: { code?: string }) => {
      if (error.code === 'document-too-expensive') return false
      throw error
    },
  )

const validate = (client: Client, document: string): Promise<z.output<typeof Verdict>> =>
  client.call('POST', '/v1/validate', Verdict, { body: { document }, timeoutMs: PATIENCE_MS })

test(
  'expensive documents of a viewer and an engine do not block health checks, heartbeats or the start of a build',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    await using scene = await openHttpScene({ documentLimits: ROOMY })
    const viewer = await keyOf(scene, 'viewer', 'reader')
    const { engine } = await scene.start({ document: IN_A_REPOSITORY })
    const order: string[] = []
    const note = async <T>(what: string, call: Promise<T>): Promise<T> => {
      const answer = await call
      order.push(what)
      return answer
    }
    const hostile = Promise.all([
      ...Array.from({ length: 10 }, (_, n) => note('hostile', attempt(viewer, HOSTILE[n % HOSTILE.length] ?? ''))),
      note('hostile', engine.client.text('POST', '/v1/engine/document', { body: { text: HOSTILE[0] }, timeoutMs: PATIENCE_MS })),
    ])
    // The eleventh call is rejected once the other ten have arrived.
    await expect
      .poll(
        () =>
          validate(viewer, HELLO).then(
            () => 'taken',
            ({ code }: { code: string }) => code,
          ),
        { timeout: 60_000 },
      )
      .toBe('rate-limited')
    for (let round = 0; round < 20; round += 1) {
      expect(await note('health', scene.nobody.text('GET', '/healthz'))).toContain('ok')
    }
    await note('heartbeat', engine.client.call('POST', '/v1/engine/heartbeat', HeartbeatAnswer, { body: {} }))
    expect(await note('build', scene.submit())).toMatchObject({ status: 'pending' })
    const others = order.filter((what) => what !== 'hostile').length
    expect(order.lastIndexOf('build')).toBeLessThan(others + 5)
    await hostile
    expect(order.filter((what) => what === 'hostile')).toHaveLength(11)
  },
)

test('processes the longest pipeline within the memory and time limits of a document', async () => {
  await using scene = await openHttpScene()
  expect(await validate(scene.admin, LONGEST)).toEqual({ valid: true, problems: [] })
})

test('limits a key to ten concurrent documents, and other keys are not affected', { timeout: 2 * PATIENCE_MS }, async () => {
  await using scene = await openHttpScene({ documentLimits: ROOMY })
  const [one, two] = [await keyOf(scene, 'viewer', 'one'), await keyOf(scene, 'developer', 'two')]
  const order: string[] = []
  const calls = Array.from({ length: 14 }, (_, n) =>
    attempt(one, HOSTILE[n % HOSTILE.length] ?? '').then(
      () => order.push('read'),
      (error: unknown) => {
        expect(error).toMatchObject({
          code: 'rate-limited',
          status: 429,
          message: expect.stringContaining('At most 10 are allowed'),
        })
        order.push('refused')
      },
    ),
  )
  await expect.poll(() => order.includes('refused'), { timeout: 60_000 }).toBe(true)
  expect(await validate(two, LARGER)).toMatchObject({ valid: true })
  order.push('other')
  await Promise.all(calls)
  expect(order.filter((what) => what === 'refused')).toHaveLength(4)
  // The other key waits only for the current document, not for all of them.
  expect(order.slice(order.indexOf('other')).filter((what) => what === 'read').length).toBeGreaterThanOrEqual(5)
  expect(await validate(one, HELLO)).toMatchObject({ valid: true })
})

test('aborts a document that takes too much time together with its process, and the next one gets a new process', async () => {
  await using scene = await openHttpScene({ documentLimits: { documentMs: 60 } })
  const viewer = await keyOf(scene, 'viewer', 'reader')
  const refused = { code: 'document-too-expensive', status: 422 }
  for (const document of [HOSTILE[3] ?? '', HOSTILE[0] ?? ''])
    await expect(validate(viewer, document)).rejects.toMatchObject(refused)
  const readable = `version: 1\nsteps: { a: { image: x, title: "${'word '.repeat(4_000)}" } }\n`
  await expect
    .poll(
      () =>
        validate(viewer, readable).then(
          ({ valid }) => valid,
          () => false,
        ),
      { timeout: 60_000 },
    )
    .toBe(true)
})

test('aborts a document that needs too much memory, and the server keeps running', async () => {
  // A new process with LARGER needs less than 32 MiB, the longest document more than 72 MiB.
  await using scene = await openHttpScene({ documentLimits: { heapMiB: 48 } })
  const viewer = await keyOf(scene, 'viewer', 'reader')
  await expect(validate(viewer, HOSTILE[3] ?? '')).rejects.toMatchObject({
    code: 'document-too-expensive',
    message: expect.stringContaining('memory'),
  })
  expect(await validate(viewer, LARGER)).toMatchObject({ valid: true })
})

test('reports an expensive document of a repository to the engine as a problem', async () => {
  await using scene = await openHttpScene({ documentLimits: { documentMs: 60 } })
  const { engine } = await scene.start({ document: IN_A_REPOSITORY })
  const answer = await engine.client.call('POST', '/v1/engine/document', EngineDocumentAnswer, { body: { text: HOSTILE[3] } })
  expect(answer).toEqual({ message: expect.stringContaining('Processing the document takes too much time or memory.') })
})

/** Returns a `kind: pipeline` document of 900 kB with 3,000 encrypted variables. */
function manySecrets(): string {
  const variables = Array.from({ length: 3_000 }, (_, n) => `  - {key: v${n}, value: s${n}, encrypted: true}\n`).join('')
  const head = `kind: pipeline\nversion: "1.0"\nmetadata: {name: a/b}\nspec:\n  variables:\n${variables}  steps:\n    a: {image: x, commands: [a], title: "`
  return `${head}${'w'.repeat(900_000 - head.length)}"}\n`
}

test('masks encrypted values of a fetched document outside the event loop', async () => {
  await using scene = await openHttpScene({ documentLimits: { documentWallMs: PATIENCE_MS } })
  const { build, engine } = await scene.start({ document: IN_A_REPOSITORY })
  const body = { text: manySecrets() }
  const before = process.threadCpuUsage()
  const startedAt = performance.now()
  const answer = await engine.client.call('POST', '/v1/engine/document', EngineDocumentAnswer, { body, timeoutMs: PATIENCE_MS })
  const { user, system } = process.threadCpuUsage(before)
  expect((user + system) / 1000).toBeLessThan((performance.now() - startedAt) / 4)
  expect(answer).toMatchObject({ plan: {} })
  const { fetched } = await scene.server.app.store.query
    .selectFrom('build_plan')
    .select('fetched')
    .where('build_id', '=', build.id)
    .executeTakeFirstOrThrow()
  expect(fetched?.split("value: '*****'")).toHaveLength(3_001)
})

test('does not store a fetched document that is too expensive', async () => {
  await using scene = await openHttpScene({ documentLimits: { documentMs: 60 } })
  const { build, engine } = await scene.start({ document: IN_A_REPOSITORY })
  const answer = await engine.client.call('POST', '/v1/engine/document', EngineDocumentAnswer, { body: { text: manySecrets() } })
  expect(answer).toMatchObject({ message: expect.any(String) })
  const stored = await scene.server.app.store.query
    .selectFrom('build_plan')
    .select('fetched')
    .where('build_id', '=', build.id)
    .executeTakeFirstOrThrow()
  expect(stored.fetched).toBeNull()
})

test('limits the processing time of a key per minute', async () => {
  await using scene = await openHttpScene({ documentLimits: { msPerMinute: 20 } })
  const [one, two] = [await keyOf(scene, 'viewer', 'one'), await keyOf(scene, 'viewer', 'two')]
  await validate(one, HOSTILE[2] ?? '')
  await expect(validate(one, HELLO)).rejects.toMatchObject({
    code: 'rate-limited',
    message: expect.stringContaining('within a minute'),
  })
  expect(await validate(two, HELLO)).toMatchObject({ valid: true })
})

test('counts a call until its document is processed, even if the caller disconnects', async () => {
  await using scene = await openHttpScene({ documentLimits: { ...ROOMY, callsAtOnce: 1 } })
  const { documentPool } = scene.server.app
  const { promise: isProcessed, resolve: finish } = Promise.withResolvers<never>()
  const read = vi.spyOn(documentPool, 'read').mockReturnValueOnce(isProcessed)
  const caller = new AbortController()
  const gone = fetch(`${scene.server.url}/v1/validate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scene.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ document: LARGER }),
    signal: caller.signal,
  })
  await expect.poll(() => read.mock.calls.length).toBe(1)
  caller.abort()
  await expect(gone).rejects.toThrow('abort')
  const refused = { code: 'rate-limited', message: expect.stringContaining('At most 1 are allowed') }
  for (let round = 0; round < 20; round += 1) await expect(validate(scene.admin, HELLO)).rejects.toMatchObject(refused)
  finish(undefined as never)
  await expect
    .poll(() =>
      validate(scene.admin, HELLO).then(
        ({ valid }) => valid,
        () => false,
      ),
    )
    .toBe(true)
})

test('counts a body of unknown size as large, and none as empty', async () => {
  await using scene = await openHttpScene()
  const enter = vi.spyOn(scene.server.app.documentPool, 'enter')
  const headers = { authorization: `Bearer ${scene.adminToken}`, 'content-type': 'application/json' }
  const send = async (method: string, path: string, body?: string | ReadableStream): Promise<number | undefined> => {
    await fetch(scene.server.url + path, { method, headers, ...(body !== undefined && { body, duplex: 'half' }) })
    return enter.mock.lastCall?.[1]
  }
  const document = JSON.stringify({ document: HELLO })
  expect(await send('POST', '/v1/validate', document)).toBe(document.length)
  expect(await send('POST', '/v1/validate', new Blob([document]).stream())).toBe(4_194_304)
  expect(await send('GET', '/api/pipelines')).toBe(0)
  expect(await send('POST', '/v1/validate', 'x'.repeat(5_000_000))).toBe(4_194_304)
})

test('scans a mebibyte of newlines only once', async () => {
  await using scene = await openHttpScene()
  const build = await scene.admin.call('POST', '/v1/builds', Build, { body: { document: '\n'.repeat(1_000_000) } })
  expect(build).toMatchObject({ status: 'error', reason: 'invalid-pipeline' })
})

test('rejects a body with too many fields before parsing it', async () => {
  await using scene = await openHttpScene()
  const variables = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, n) => [`name${n}\\`, '']))
  const refused = { code: 'request-invalid', message: 'The body has more than 20,000 fields and list items.' }
  await expect(scene.submit({ variables: variables(30_000) })).rejects.toMatchObject(refused)
  expect(await scene.submit({ variables: variables(5_000) })).toMatchObject({ status: 'pending' })
  // Quotes inside a document do not count as fields of the body.
  const steps = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, n) => [`s${n}`, { image: 'x', title: 'a', shell: 'sh', tty: false }]),
  )
  expect(await scene.submit({ document: JSON.stringify({ version: 1, steps }) })).toMatchObject({ status: 'pending' })
})
