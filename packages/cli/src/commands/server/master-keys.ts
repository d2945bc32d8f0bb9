import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiClient } from '@windlass/client'
import type { MasterKeys } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'

interface Options {
  readonly output: 'json' | 'yaml' | undefined
}

const POLL_MS = 300
const ROTATION_MS = 60_000

/** Runs `server keys`. */
export async function showMasterKeys({ options, out, settings }: Invocation<Options>): Promise<void> {
  await print(out, await openSession(settings).client.masterKeys.get(), options.output)
}

/** Runs `server rotate-keys`. Waits until all secrets are encrypted with the new key. */
export async function rotateMasterKeys({
  options,
  out,
  settings,
}: Invocation<Options & { readonly prune: boolean }>): Promise<void> {
  const { client } = openSession(settings)
  const { rotation } = await client.masterKeys.get()
  const isRotating = rotation !== undefined && rotation.finishedAt === undefined
  if (isRotating) out.note('A rotation is in progress; continuing it. No new key is created.')
  await client.masterKeys.rotate({ prune: options.prune }, { timeoutMs: ROTATION_MS })
  await print(out, await untilFinished(client), options.output)
}

/** Runs `server prune-keys`. */
export async function pruneMasterKeys({ options, out, settings }: Invocation<Options>): Promise<void> {
  const { client } = openSession(settings)
  await client.masterKeys.prune()
  await print(out, await untilFinished(client), options.output)
}

/** Waits until all secrets are re-encrypted and older keys are removed, unless running builds still need them. */
async function untilFinished(client: ApiClient): Promise<MasterKeys> {
  for (;;) {
    const found = await client.masterKeys.get()
    const { source, keys, rotation } = found
    const nothingToRemove = source === 'setting' || !keys.some(({ state }) => state === 'unused')
    if (rotation?.finishedAt !== undefined && (!rotation.prunes || nothingToRemove)) return found
    await sleep(POLL_MS)
  }
}

async function print(out: Printer, found: MasterKeys, format: Options['output']): Promise<void> {
  if (format !== undefined) return printValue(out, found, format)
  const head = ['KEY', 'STATE', 'CREDENTIALS'].map((cell) => out.stdout.style.dim(cell))
  const rows = found.keys.map(({ id, state, credentials }) => [id, state, credentials === 0 ? '' : String(credentials)])
  for (const line of alignColumns([head, ...rows])) out.line(line)
  for (const note of notes(found)) out.note(note)
}

function notes({ source, keys, rotation }: MasterKeys): string[] {
  const found: string[] = []
  if (rotation !== undefined) {
    const count = Object.values(rotation.rewrapped).reduce((sum, n) => sum + n, 0)
    const end = rotation.finishedAt === undefined ? ' so far; the server continues.' : '.'
    found.push(`Re-encrypted ${count} secrets with key ${rotation.to}${end}`)
    if (rotation.unreadable > 0)
      found.push(`${rotation.unreadable} secrets cannot be decrypted; the log of the server names them.`)
  }
  const waiting = keys.filter(({ state, credentials }) => state === 'older' && credentials > 0)
  if (waiting.length > 0 && source === 'setting')
    found.push(
      'Running builds still use an older key. Keep its line; `windlass server keys` names the line to remove once they have ended.',
    )
  if (waiting.length > 0 && source === 'file' && rotation?.prunes === true)
    found.push('Running builds have credentials from older keys. The server removes these keys when the builds have ended.')
  const lines = keys.flatMap(({ state }, index) => (state === 'unused' ? [index + 1] : []))
  if (lines.length > 0)
    found.push(
      source === 'file'
        ? 'Remove unused keys with `windlass server prune-keys`.'
        : `Nothing needs the key on line ${lines.join(', ')} of the setting any more; remove it there.`,
    )
  return found
}
