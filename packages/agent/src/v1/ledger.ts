/**
 * What an agent of protocol v1 has in its hands, kept across kill -9: tasks that were pulled and have no outcome yet, and reports that the
 * platform does not have yet. Manifests are not kept: they hold credentials, and an old create must not be carried out after a restart.
 */
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fault } from '@windlass/kit'
import { z } from 'zod'
import { TaskStatusShape, V1Task, type TaskStatus } from './shapes.ts'
import { isCreate } from './split.ts'

export interface Ledger {
  /** Writes tasks down; answers those that are not in hand already. On disk when it returns. */
  accept(tasks: readonly V1Task[]): V1Task[]
  /** Notes the outcome of a task; without a status nothing is to be reported. On disk when it returns. */
  finish(task: V1Task, status: TaskStatus | undefined): void
  /** Reports to send, oldest first. */
  unsent(limit: number): readonly Report[]
  /** Forgets a report that the platform has. */
  sent(report: Report): void
  /** Tasks that an earlier process pulled and did not finish; those to delete something can be carried out as they are. */
  unfinished(): readonly V1Task[]
  /** How many reports wait; 0 when it is closed. */
  unsentCount(): number
  close(): void
}

export interface Report {
  readonly taskId: string
  readonly revision: number
  readonly status: TaskStatus
}

const FILE = 'agent-v1.sqlite'
const SCHEMA = `create table if not exists task (
  id text not null, revision integer not null, body text, status text, primary key (id, revision)
)`
const Row = z.object({ id: z.string(), revision: z.int(), body: z.string().nullable(), status: z.string().nullable() })

/** Opens the ledger of a folder, which is made. Throws `config-invalid` when it cannot be written. */
export function openLedger(dir: string): Ledger {
  const db = openFile(dir)
  const all = (where: string, limit: number): z.infer<typeof Row>[] =>
    db
      .prepare(`select id, revision, body, status from task where ${where} order by rowid limit ?`)
      .all(limit)
      .map((row) => Row.parse(row))
  const insert = db.prepare('insert or ignore into task (id, revision, body) values (?, ?, ?)')
  const report = db.prepare('update task set status = ?, body = null where id = ? and revision = ?')
  const forget = db.prepare('delete from task where id = ? and revision = ?')
  const count = db.prepare('select count(*) as count from task where status is not null')

  return {
    accept(tasks) {
      if (tasks.length === 0) return []
      db.exec('begin immediate')
      const fresh = tasks.filter((task) => insert.run(task._id, revisionOf(task), bodyOf(task)).changes > 0)
      db.exec('commit')
      return fresh
    },
    finish(task, status) {
      if (status === undefined) forget.run(task._id, revisionOf(task))
      else report.run(JSON.stringify(status), task._id, revisionOf(task))
    },
    unsent: (limit) =>
      all('status is not null', limit).map(({ id, revision, status }) => ({
        taskId: id,
        revision,
        status: TaskStatusShape.parse(JSON.parse(status ?? '')),
      })),
    sent: ({ taskId, revision }) => void forget.run(taskId, revision),
    unfinished: () => all('status is null', 100_000).map(({ body }) => V1Task.parse(JSON.parse(body ?? ''))),
    unsentCount: () => (db.isOpen ? z.object({ count: z.int() }).parse(count.get()).count : 0),
    close: () => db.close(),
  }
}

function openFile(dir: string): DatabaseSync {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const path = join(dir, FILE)
    const db = new DatabaseSync(path)
    db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 5000; pragma secure_delete = on')
    db.exec(SCHEMA)
    chmodSync(path, 0o600)
    return db
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    throw fault(
      'config-invalid',
      {
        message: `The agent cannot write to its folder ${dir}: ${words}.`,
        hint: 'Mount a writable folder and name it in WINDLASS_AGENT_STATE_DIR.',
      },
      error,
    )
  }
}

function revisionOf({ metadata }: V1Task): number {
  return metadata.currentStatusRevision
}

function bodyOf(task: V1Task): string {
  const { _id, type, metadata } = task
  return JSON.stringify({ _id, type, metadata, ...(!isCreate(task) && type !== 'AgentTask' && { spec: task.spec }) })
}
