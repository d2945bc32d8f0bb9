/** Ended builds with known numbers, written into the database of a stopped server as copies of a build that it ran. */
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { newId } from '@windlass/kit'

export interface SeededStep {
  readonly step: string
  readonly try: number
  readonly status: 'success' | 'error'
  readonly ms: number
}

export interface SeededBuild {
  readonly status: 'success' | 'error' | 'terminated'
  readonly branch: string
  readonly revision: string
  readonly createdAt: number
  readonly durationMs: number
  /** Cause -> milliseconds. */
  readonly waits: Readonly<Record<string, number>>
  readonly steps: readonly SeededStep[]
}

type Row = Record<string, SQLInputValue>

function insert(db: DatabaseSync, table: string, row: Row): void {
  const names = Object.keys(row)
  db.prepare(
    `insert into ${table} (${names.map((name) => `"${name}"`).join(', ')}) values (${names.map(() => '?').join(', ')})`,
  ).run(...Object.values(row))
}

/** Adds builds of the pipeline of an ended build to the data of a server that does not run, oldest first. Returns their numbers. */
export function seedBuilds(dataDir: string, model: { readonly id: string }, builds: readonly SeededBuild[]): number[] {
  const db = new DatabaseSync(join(dataDir, 'windlass.db'))
  try {
    const row = db.prepare('select * from build where id = ?').get(model.id) as Row
    const last = Number(db.prepare('select max(number) as number from build').get()?.['number'])
    db.exec('begin immediate')
    const numbers = builds.map((build, index) => {
      const number = last + 1 + index
      addBuild(db, row, build, number)
      return number
    })
    db.exec('commit')
    return numbers
  } finally {
    db.close()
  }
}

function addBuild(db: DatabaseSync, model: Row, build: SeededBuild, number: number): void {
  const id = newId(build.createdAt)
  const waited = Object.values(build.waits).reduce((sum, ms) => sum + ms, 0)
  const startedAt = build.createdAt + waited
  const { status, branch, revision, createdAt, durationMs } = build
  const reason = status === 'success' ? null : status === 'error' ? 'step-failed' : 'user'
  const times = { created_at: createdAt, queued_at: createdAt, started_at: startedAt, finished_at: startedAt + durationMs }
  insert(db, 'build', { ...model, ...times, id, number, status, reason, branch, revision, paused_ms: 0, waits_since: startedAt })
  for (const [cause, ms] of Object.entries(build.waits))
    insert(db, 'build_wait', { build_id: id, account_id: model['account_id'] ?? '', reason: cause, waited_ms: ms })
  for (const { step, try: attempt, status: ended, ms } of build.steps)
    insert(db, 'ended_step', {
      build_id: id,
      account_id: model['account_id'] ?? '',
      pipeline_id: model['pipeline_id'] ?? '',
      attempt: 1,
      step,
      try: attempt,
      status: ended,
      reason: ended === 'error' ? 'exit-code' : null,
      started_at: startedAt,
      finished_at: startedAt + ms,
      memory_bytes: 400_000_000,
      cpu_ms: 1000,
    })
}
