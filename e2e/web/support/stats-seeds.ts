/** Ended builds with known numbers, written into the database of a stopped server as copies of a build that it ran. */
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
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

type Insert = (row: Row) => void

/** Returns a function that inserts rows with the same columns as the first one. */
function inserter(db: DatabaseSync, table: string): Insert {
  let statement: StatementSync | undefined
  return (row) => {
    const names = Object.keys(row)
    statement ??= db.prepare(
      `insert into ${table} (${names.map((name) => `"${name}"`).join(', ')}) values (${names.map(() => '?').join(', ')})`,
    )
    statement.run(...Object.values(row))
  }
}

/** Opens the database of a stopped server, and writes in one transaction. */
function write<T>(dataDir: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(dataDir, 'windlass.db'))
  try {
    db.exec('begin immediate')
    const result = work(db)
    db.exec('commit')
    return result
  } finally {
    db.close()
  }
}

function newestNumber(db: DatabaseSync): number {
  return Number(db.prepare('select max(number) as number from build').get()?.['number'])
}

/** Adds pipelines with names such as `many/pipeline-0001`, each with builds, as copies of the pipeline of a build. */
export function seedPipelines(
  dataDir: string,
  model: { readonly id: string },
  { count, builds }: { readonly count: number; readonly builds: number },
): void {
  write(dataDir, (db) => {
    const build = db.prepare('select * from build where id = ?').get(model.id) as Row
    const pipeline = db.prepare('select * from pipeline where id = ?').get(build['pipeline_id'] ?? '') as Row
    const [addPipeline, addBuild] = [inserter(db, 'pipeline'), inserter(db, 'build')]
    const createdAt = Number(build['created_at'])
    let number = newestNumber(db)
    for (let index = 0; index < count; index += 1) {
      const [id, name] = [newId(createdAt), `many/pipeline-${String(index).padStart(4, '0')}`]
      addPipeline({ ...pipeline, id, name, project_id: null })
      for (let own = 0; own < builds; own += 1) {
        number += 1
        const at = createdAt - (builds - own) * 3_600_000
        const times = { created_at: at, queued_at: at, started_at: at, finished_at: at + 60_000 + own * 1000 }
        addBuild({ ...build, ...times, id: newId(at), number, pipeline_id: id, pipeline: name, project_id: null, project: null })
      }
    }
  })
}

/** Adds builds of the pipeline of an ended build to the data of a server that does not run, oldest first. Returns their numbers. */
export function seedBuilds(dataDir: string, model: { readonly id: string }, builds: readonly SeededBuild[]): number[] {
  return write(dataDir, (db) => {
    const row = db.prepare('select * from build where id = ?').get(model.id) as Row
    const tables = { build: inserter(db, 'build'), wait: inserter(db, 'build_wait'), step: inserter(db, 'ended_step') }
    const last = newestNumber(db)
    return builds.map((build, index) => {
      addBuild(tables, row, build, last + 1 + index)
      return last + 1 + index
    })
  })
}

interface Tables {
  readonly build: Insert
  readonly wait: Insert
  readonly step: Insert
}

function addBuild(tables: Tables, model: Row, build: SeededBuild, number: number): void {
  const id = newId(build.createdAt)
  const waited = Object.values(build.waits).reduce((sum, ms) => sum + ms, 0)
  const startedAt = build.createdAt + waited
  const { status, branch, revision, createdAt, durationMs } = build
  const reason = status === 'success' ? null : status === 'error' ? 'step-failed' : 'cancelled'
  const times = { created_at: createdAt, queued_at: createdAt, started_at: startedAt, finished_at: startedAt + durationMs }
  tables.build({ ...model, ...times, id, number, status, reason, branch, revision, paused_ms: 0, waits_since: startedAt })
  for (const [cause, ms] of Object.entries(build.waits))
    tables.wait({ build_id: id, account_id: model['account_id'] ?? '', reason: cause, waited_ms: ms })
  for (const { step, try: attempt, status: ended, ms } of build.steps)
    tables.step({
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
