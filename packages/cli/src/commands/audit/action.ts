import { listAll, type ApiClient } from '@windlass/client'
import { sha256 } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { openAuditCheck, type AuditRecord } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatTime } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

interface ListOptions {
  readonly limit: number | undefined
  readonly user: string | undefined
  readonly result: AuditRecord['result'] | undefined
  readonly query: string | undefined
  readonly output: 'json' | 'yaml' | 'wide' | undefined
}

const SHOWN = 50

/** Runs `audit list`. */
export async function listAudit({ options, out, settings }: Invocation<ListOptions>): Promise<void> {
  const { client } = openSession(settings)
  const { user, result, query: q, output } = options
  const records = await listAll(
    ({ query }) => client.audit.list({ query: { ...query, user, result, q } }),
    options.limit ?? SHOWN,
  )
  if (output === 'json' || output === 'yaml') return printValue(out, records, output)
  if (records.length === 0) return out.note('No records found.')
  const columns = Object.entries({ ...COLUMNS, ...(output === 'wide' && WIDE) })
  const head = columns.map(([name]) => out.stdout.style.dim(name))
  for (const line of alignColumns([head, ...records.map((record) => columns.map(([, cell]) => cell(record)))])) out.line(line)
}

const COLUMNS: Readonly<Record<string, (record: AuditRecord) => string>> = {
  SEQ: ({ seq }) => String(seq),
  TIME: ({ at }) => formatTime(at),
  WHO: ({ owner, actor, kind }) => owner ?? (actor === '' ? kind : actor),
  ACTION: ({ action }) => action,
  TARGET: ({ target }) => target,
  RESULT: ({ result, code }) => (code === undefined ? result : `${result} (${code})`),
  DETAIL: ({ detail }) => detail ?? '',
}

const WIDE: typeof COLUMNS = {
  KEY: ({ kind, actor }) => (kind === 'key' ? actor : ''),
  ADDRESS: ({ address }) => address,
  CLIENT: ({ client }) => client ?? '',
  REQUEST: ({ requestId }) => requestId,
}

const PAGE = 500

/** Yields the records after a number, oldest first, until there are no more. */
async function* readRecords(client: ApiClient, after: number): AsyncGenerator<AuditRecord> {
  let cursor: string | undefined = String(after)
  while (cursor !== undefined) {
    const page: Awaited<ReturnType<ApiClient['audit']['list']>> = await client.audit.list({
      query: { order: 'oldest', limit: PAGE, cursor },
    })
    yield* page.items
    cursor = page.next
  }
}

/** Runs `audit export`. */
export async function exportAudit({ options, out, settings }: Invocation<{ after: number | undefined }>): Promise<void> {
  const { client } = openSession(settings)
  for await (const record of readRecords(client, options.after ?? 0)) {
    out.line(JSON.stringify(record))
    await out.stdout.drained()
  }
}

/** Runs `audit verify`. Returns 1 if the log does not fit. */
export async function verifyAudit({ options, out, settings }: Invocation<{ expect: string | undefined }>): Promise<number> {
  const { client } = openSession(settings)
  const expected = readExpected(options.expect)
  // Read first: the log grows while it is read, and the records up to here must exist.
  const chain = await client.audit.chain()
  const check = openAuditCheck(chain.deleted, sha256)
  let last = chain.deleted
  let isFound = expected === undefined || isSame(expected, chain.deleted) || expected.seq < chain.deleted.seq
  const fail = (problem: string): number => {
    out.line(`The audit log does not fit: ${problem}.`)
    return EXIT.failed
  }
  for await (const record of readRecords(client, 0)) {
    const problem = check(record)
    if (problem !== undefined) return fail(problem)
    last = record
    isFound ||= expected !== undefined && isSame(expected, record)
    if (record.seq === chain.last.seq && record.hash !== chain.last.hash)
      return fail(`record ${record.seq} is not the one that was the last`)
  }
  if (last.seq < chain.last.seq) return fail(`the records from ${last.seq + 1} to ${chain.last.seq} are missing`)
  if (!isFound) return fail(`the record ${options.expect} is not in it`)
  out.line(`${last.seq - chain.deleted.seq} records fit. Last record: ${last.seq}:${last.hash}`)
  if (expected !== undefined && expected.seq < chain.deleted.seq)
    out.note(`The record ${expected.seq} was deleted because of its age and could not be compared.`)
  return EXIT.success
}

interface Position {
  readonly seq: number
  readonly hash: string
}

function isSame(one: Position, other: Position): boolean {
  return one.seq === other.seq && one.hash === other.hash
}

function readExpected(text: string | undefined): Position | undefined {
  if (text === undefined) return undefined
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (seq === undefined || hash === undefined)
    throw fault('usage', {
      message: '--expect takes SEQ:HASH.',
      hint: 'Use the last record that `windlass audit verify` has printed.',
    })
  return { seq: Number(seq), hash }
}
