import { defined, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import {
  DEBUG_ACTIONS,
  terminalStream,
  type DebugAction,
  type DebugChange,
  type DebugState,
  type TerminalRecord,
} from '@windlass/protocol'
import type { Invocation, Values } from '../../command.ts'
import { parseBreakpoints } from '../../debug/breakpoints.ts'
import { openKeyboard, watchSize } from '../../debug/keyboard.ts'
import { openKeySender, showOutput, type Shown } from '../../debug/remote-terminal.ts'
import { EXIT } from '../../exit-codes.ts'
import type { Printer } from '../../printer.ts'
import { requireBuildId } from '../../input/build-id.ts'
import { openSession } from '../../session/session.ts'
import type { debugOptions } from './options.ts'

type DebugOptions = Values<typeof debugOptions>
type Call = Invocation<DebugOptions>

/** Runs `debug BUILD [STEP]`: sets breakpoints, decides about a held step, or opens a terminal in it. */
export async function debugBuild(invocation: Call): Promise<number> {
  const { args, options, out, settings } = invocation
  const { client } = openSession(settings)
  const [given = '', step] = args
  const id = requireBuildId(given)
  const change = toChange(options)
  if (change !== undefined) await client.debug.change(id, change)
  if (options.list) return list(await client.debug.get(id), invocation)
  if (options.replay !== undefined) return replay(client, { id, terminal: options.replay, out })
  const action = DEBUG_ACTIONS.find((name) => options[name])
  if (action !== undefined) return act(client, { id, step, action, out })
  if (change !== undefined && (options.off || options.detach)) return EXIT.success
  const record =
    options.attach === undefined
      ? await open(client, { id, step, invocation })
      : await find(client, { id, terminal: options.attach })
  if (record === undefined) return EXIT.success
  return attachTerminal(client, { id, record, invocation })
}

function toChange(options: DebugOptions): DebugChange | undefined {
  if (options.off) return { off: true }
  if (options.break.length === 0 && !options.onFailure && options.timeout === undefined && options.onTimeout === undefined)
    return undefined
  return {
    ...(options.break.length > 0 && { steps: parseBreakpoints(options.break) }),
    ...(options.onFailure && { onFailure: true }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout * 1000 }),
    ...defined({ onTimeout: options.onTimeout }),
  }
}

function list(state: DebugState, { options, out }: Call): number {
  if (options.output === 'json') {
    out.line(JSON.stringify(state, null, 2))
    return EXIT.success
  }
  if (state.settings === undefined) out.line('Debugging is off for this build.')
  for (const { step, phase } of state.held) out.line(`held  ${step}  ${phase}`)
  for (const { id, step, phase, openedBy, endedAt } of state.terminals)
    out.line(`terminal ${id}  ${step}  ${phase}  by ${openedBy}  ${endedAt === undefined ? 'open' : 'ended'}`)
  return EXIT.success
}

/** Prints the recording of a terminal, which is a stream of the build's log. */
async function replay(client: ApiClient, { id, terminal, out }: { id: string; terminal: string; out: Printer }): Promise<number> {
  const query = { stream: terminalStream(terminal) }
  for await (const bytes of await client.builds.logBytes(id, { query })) {
    out.stdout.write(bytes)
    await out.stdout.drained()
  }
  return EXIT.success
}

async function act(
  client: ApiClient,
  { id, step, action, out }: { id: string; step: string | undefined; action: DebugAction; out: Printer },
): Promise<number> {
  const held = step ?? requireSingle((await client.debug.get(id)).held.map((one) => one.step))
  await client.debug.act(id, held, action)
  out.note(`${held}: ${action}`)
  return EXIT.success
}

function requireSingle(steps: readonly string[]): string {
  const [first, ...more] = steps
  if (first !== undefined && more.length === 0) return first
  throw fault('not-held', {
    message: first === undefined ? 'No step of the build is held.' : `Several steps are held: ${steps.join(', ')}.`,
  })
}

const POLL_MS = 500

/** Waits until the step is held, and opens a terminal in it. Resolves to undefined if the build ends first. */
async function open(
  client: ApiClient,
  { id, step, invocation }: { id: string; step: string | undefined; invocation: Call },
): Promise<TerminalRecord | undefined> {
  const { out, options } = invocation
  const { columns, rows } = process.stdout.isTTY ? process.stdout : { columns: 80, rows: 24 }
  const shape = { columns, rows, kind: invocation.settings.environment['TERM'] ?? 'xterm', step, command: options.command }
  for (let isWaiting = false; ; isWaiting = true) {
    try {
      return await client.debug.openTerminal(id, shape)
    } catch (error) {
      if (isWaiting && isFault(error, 'build-final')) {
        out.note(error.message)
        return undefined
      }
      if (isFault(error, 'build-final'))
        throw fault('build-final', {
          message: error.message,
          hint: `Its containers are removed. Hold the failing step in another run: \`windlass restart ${id} --on-failure\`.`,
        })
      if (!isFault(error, 'not-held')) throw error
      const { held, settings } = await client.debug.get(id)
      if (held.length > 1 && step === undefined) throw error
      if (settings === undefined)
        throw fault('not-held', {
          message: 'Debugging is off for this build.',
          hint: 'Set a breakpoint with `windlass debug BUILD --break STEP:PHASE`, or add `--on-failure`.',
        })
      if (!isWaiting) out.note('Waiting for a step to be held. Press Ctrl-C to stop waiting.')
    }
    await systemClock.sleep(POLL_MS)
  }
}

async function find(client: ApiClient, { id, terminal }: { id: string; terminal: string }): Promise<TerminalRecord> {
  const record = (await client.debug.get(id)).terminals.find((one) => one.id === terminal)
  if (record === undefined) throw fault('not-found', { message: `Terminal ${terminal} of build ${id} does not exist.` })
  return record
}

/** Attaches this terminal to the remote one until that ends or the user detaches. Resolves to the exit code. */
async function attachTerminal(
  client: ApiClient,
  { id, record, invocation }: { id: string; record: TerminalRecord; invocation: Call },
): Promise<number> {
  const { out, options } = invocation
  const over = new AbortController()
  const terminal = { client, buildId: id, record, signal: over.signal }
  const shown: Shown = { seq: 0 }
  const sender = openKeySender(terminal)
  const isTyped = options.command === undefined || !process.stdin.isTTY
  if (isTyped && process.stdin.isTTY)
    out.note(
      `${record.step}, ${record.phase}: \`exit\` continues the step, Ctrl-P Ctrl-Q leaves the terminal and keeps the step held.`,
    )
  const keyboard = isTyped ? openKeyboard(process.stdin) : undefined
  watchSize(process.stdout, over.signal, (size) => sender.resize(size))
  void (async () => {
    for await (const keys of keyboard?.keys ?? []) sender.press(keys)
    if (keyboard?.hasDetached() !== true) return
    await sender.flushed()
    over.abort()
  })()
  try {
    const output = showOutput(terminal, shown)
    for (;;) {
      const { value, done } = await output.next()
      if (done !== true) {
        out.stdout.write(value)
        await out.stdout.drained()
        sender.acknowledge(shown.seq, value.length)
        continue
      }
      if (keyboard?.hasDetached() === true) {
        out.note(`\r\nThe step stays held. Reattach with \`windlass debug ${id} --attach ${record.id}\`.`)
        return EXIT.success
      }
      if (value?.message !== undefined) throw fault('docker-refused', { message: value.message })
      return options.command === undefined ? EXIT.success : (value?.exitCode ?? EXIT.failed)
    }
  } finally {
    over.abort()
    keyboard?.[Symbol.dispose]()
  }
}
