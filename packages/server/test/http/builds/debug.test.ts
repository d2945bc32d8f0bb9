/** The debugger with real servers, a real engine and real Docker. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodeTransport } from '@windlass/kit'
import {
  Build,
  createClient,
  DebugState,
  TerminalEnd,
  TerminalInputAck,
  TerminalRecord,
  type Client,
  type TerminalInput,
} from '@windlass/protocol'
import { ensureImages } from '../../../../../e2e/support/images.ts'
import { freePort } from '../../../../../e2e/support/process.ts'
import { letGo, UNTIL_LET_GO } from '../../../../../e2e/support/steps.ts'
import { openKeySender, showOutput } from '../../../../cli/src/debug/remote-terminal.ts'
import type { RunningEngine } from '../../../../engine/src/index.ts'
import { startServer } from '../../../src/index.ts'
import { startDockerEngine } from '../../support/fakes/docker-engine.ts'
import { DATABASES, type Database } from '../../support/stores.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

let images: Readonly<Record<string, string>>

beforeAll(async () => {
  images = await ensureImages('shell', 'tools')
})

interface Debugged extends AsyncDisposable {
  readonly build: Build
  readonly engine: RunningEngine
  state(): Promise<DebugState>
  /** Resolves when a step is held. */
  held(): Promise<DebugState['held'][number]>
}

/** Submits a build and runs it with a separate engine, which calls the server at `engineUrl`. */
async function debug(scene: HttpScene, input: object, options: { engineUrl?: string; client?: Client } = {}): Promise<Debugged> {
  const client = options.client ?? scene.admin
  const build = await client.call('POST', '/v1/builds', Build, { body: input })
  const running = await startDockerEngine(scene, { toolsImage: images['TOOLS_IMAGE'], serverUrl: options.engineUrl })
  const state = (): Promise<DebugState> => client.call('GET', `/v1/builds/${build.id}/debug`, DebugState)
  return {
    build,
    engine: running.engine,
    state,
    async held() {
      for (let n = 0; n < 1_200; n += 1) {
        const [first] = (await state()).held
        if (first !== undefined) return first
        await sleep(50)
      }
      throw new Error('no step is held')
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

interface AttachedTerminal {
  readonly record: TerminalRecord
  text(): string
  type(keys: string): Promise<void>
  until(pattern: RegExp): Promise<void>
  readonly ended: Promise<TerminalEnd>
}

/** Opens a terminal and follows its output. */
async function attachTerminal(client: Client, build: string, input: Partial<TerminalInput> = {}): Promise<AttachedTerminal> {
  const record = await client.call('POST', `/v1/builds/${build}/terminals`, TerminalRecord, {
    body: { columns: 80, rows: 24, ...input },
  })
  const path = `/v1/builds/${build}/terminals/${record.id}`
  let text = ''
  let shown = 0
  let typed = 0
  const ended = (async () => {
    for await (const { event, data, id } of client.events(`${path}/output`, { query: { after: 0 } })) {
      if (event === 'end') return TerminalEnd.parse(JSON.parse(data))
      text += Buffer.from(data, 'base64').toString()
      shown = Number(id)
      if (shown % 20 === 0)
        await client.call('POST', `${path}/input`, TerminalInputAck, { body: { seq: typed + 1, parts: [], ackSeq: shown } })
    }
    throw new Error('the output ended without an end event')
  })()
  ended.catch(() => undefined)
  return {
    record,
    ended,
    text: () => text.replaceAll('\r', ''),
    async type(keys) {
      const parts = [{ keys: Buffer.from(keys).toString('base64') }]
      const body = { seq: typed + 1, parts, ackSeq: shown }
      typed = (await client.call('POST', `${path}/input`, TerminalInputAck, { body })).seq
    },
    async until(pattern) {
      for (let n = 0; !pattern.test(text); n += 1) {
        if (n > 6_000) throw new Error(`never saw ${pattern} in ${text}`)
        await sleep(5)
      }
    },
  }
}

function held(steps: Record<string, string>): string {
  const body = Object.entries(steps).map(([name, line]) => [name, { image: images['SHELL_IMAGE'], commands: [line] }])
  return JSON.stringify({ version: '1.0', steps: Object.fromEntries(body) })
}

/** Waits for the end of a build. */
async function finalOf(client: Client, id: string): Promise<Build> {
  for (;;) {
    const build = await client.call('GET', `/v1/builds/${id}/wait`, Build, { query: { timeoutMs: 20_000 }, timeoutMs: 30_000 })
    if (build.finishedAt !== undefined) return build
  }
}

test('shows a held step, opens a terminal in it through the server, continues the build on its exit, and keeps the session (P160)', async () => {
  await using scene = await openHttpScene()
  const document = held({ one: 'echo never', two: 'echo "two after $A"' })
  await using run = await debug(scene, { document, debug: { steps: { one: ['override'] } }, secrets: { PASSWORD: 'swordfish' } })
  expect(await run.held()).toMatchObject({ step: 'one', phase: 'override' })
  const terminal = await attachTerminal(scene.admin, run.build.id)
  await terminal.type('cf_export A=from-the-terminal; echo "it is $PASSWORD."\r')
  await terminal.until(/it is \*\*\*\*\*\./)
  await terminal.type('exit\r')
  expect(await terminal.ended).toEqual({ exitCode: 0 })
  const final = await finalOf(scene.admin, run.build.id)
  expect(final).toMatchObject({ status: 'success' })
  await run.engine.ended
  const log = await scene.admin.text('GET', `/v1/builds/${run.build.id}/log`)
  expect(log).toContain('two after from-the-terminal')
  expect(log).not.toContain('it is *****.')
  const stream = encodeURIComponent(`terminal/${terminal.record.id}`)
  expect(await scene.admin.text('GET', `/v1/builds/${run.build.id}/log?stream=${stream}`)).toContain('it is *****.')
  expect((await run.state()).terminals).toMatchObject([{ id: terminal.record.id, openedBy: 'admin', exitCode: 0 }])
})

test('switches a running build to the debugger, and retries or fails its steps by a call (P160)', async () => {
  await using scene = await openHttpScene()
  const document = held({ slow: UNTIL_LET_GO, flaky: 'test -e /codefresh/volume/mended', last: 'echo fine' })
  await using run = await debug(scene, { document })
  await scene.admin.call('POST', `/v1/builds/${run.build.id}/debug`, DebugState, {
    body: { onFailure: true, steps: { last: ['after'] } },
  })
  await letGo(run.build.id)
  expect(await run.held()).toMatchObject({ step: 'flaky', phase: 'failure' })
  const fix = await attachTerminal(scene.admin, run.build.id, { command: 'touch /codefresh/volume/mended; echo done; exit 7' })
  expect(await fix.ended).toEqual({ exitCode: 7 })
  expect(fix.text()).toBe('done\n')
  await scene.admin.call('POST', `/v1/builds/${run.build.id}/debug/flaky/retry`, DebugState, { body: {} })
  while ((await run.held()).step !== 'last') await sleep(50)
  await scene.admin.call('POST', `/v1/builds/${run.build.id}/debug/last/fail`, DebugState, { body: {} })
  const final = await finalOf(scene.admin, run.build.id)
  expect(final).toMatchObject({ status: 'error' })
  expect(final.steps?.map(({ name, status, reason, try: tries }) => [name, status, reason, tries])).toEqual([
    ['slow', 'success', undefined, 1],
    ['flaky', 'success', undefined, 2],
    ['last', 'error', 'debug-failed', 1],
  ])
})

let postgres: Database

beforeAll(async () => {
  postgres = await DATABASES[1].open()
})

afterAll(() => postgres[Symbol.asyncDispose]())

test('the user and the engine may call different servers, and no key or output is lost or duplicated (P160)', async () => {
  const database = await postgres.fresh()
  await using scene = await openHttpScene(database)
  const second = await startServer({ ...database, minFreeShare: 0 })
  try {
    const user = createClient({ url: second.url, token: scene.adminToken, transport: nodeTransport() })
    const document = held({ one: 'echo never' })
    await using run = await debug(scene, { document, debug: { steps: { one: ['override'] } } }, { client: user })
    await run.held()
    const terminal = await attachTerminal(user, run.build.id)
    await terminal.type('stty -echo; PS1="an""other> "; echo rea""dy; cat\r')
    await terminal.until(/ready\r?\n/)
    for (let n = 0; n < 60; n += 1) {
      await terminal.type(`key ${n}\r`)
      await terminal.until(new RegExp(`key ${n}\r?\n`))
    }
    await terminal.type('\u0003')
    // The kernel discards input around a Ctrl-C. Wait until the shell prompts for the next line.
    await terminal.until(/another> /)
    await terminal.type('echo; seq 1 30000; echo en""d\r')
    await terminal.until(/\nend\r\n/)
    expect(terminal.text().match(/^\d+$/gm)).toEqual(Array.from({ length: 30_000 }, (_, index) => String(index + 1)))
    await terminal.type('exit\r')
    expect(await terminal.ended).toMatchObject({ exitCode: expect.any(Number) })
    expect(await finalOf(user, run.build.id)).toMatchObject({ status: 'success' })
    await run.engine.ended
  } finally {
    await second.close()
  }
})

test('a terminal continues across a restart of the server, with every byte once (P160)', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'windlass-debug-data-'))
  const port = await freePort()
  const options = { dataDir, port, minFreeShare: 0 }
  const scene = await openHttpScene(options)
  let again: Awaited<ReturnType<typeof startServer>> | undefined
  try {
    await using run = await debug(scene, { document: held({ one: 'echo never' }), debug: { steps: { one: ['override'] } } })
    await run.held()
    const record = await scene.admin.call('POST', `/v1/builds/${run.build.id}/terminals`, TerminalRecord, {
      body: { columns: 80, rows: 24 },
    })
    const shown = { seq: 0 }
    const over = new AbortController()
    const terminal = { client: scene.admin, buildId: run.build.id, record, signal: over.signal }
    const sender = openKeySender(terminal)
    let text = ''
    const ended = (async () => {
      for await (const bytes of showOutput(terminal, shown)) text += bytes.toString()
    })()
    const until = (wanted: string): Promise<void> => expect.poll(() => text).toContain(wanted)
    const type = (keys: string): void => sender.press(Buffer.from(keys))
    type('for n in $(seq 1 40); do echo "line $n."; sleep 0.05; done\r')
    await until('line 5.')
    await scene.server.close()
    await sleep(300)
    again = await startServer(options)
    await until('line 40.')
    type('echo still he""re\r')
    await until('still here')
    type('exit\r')
    await ended
    const lines = text.match(/^line \d+\./gm)
    expect(lines).toEqual(Array.from({ length: 40 }, (_, index) => `line ${index + 1}.`))
    expect(await finalOf(scene.admin, run.build.id)).toMatchObject({ status: 'success' })
    await run.engine.ended
  } finally {
    await again?.close()
    await scene[Symbol.asyncDispose]()
    await rm(dataDir, { recursive: true, force: true })
  }
})
