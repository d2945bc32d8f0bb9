/** Vitest's global setup of the store tests: one PostgreSQL for all their files. */
import type { TestProject } from 'vitest/node'
import { startPostgres, type Postgres } from '../../../../e2e/support/postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** `postgres://` URL of the server. */
    sharedPostgres?: string
  }
}

let postgres: Postgres | undefined

export async function setup({ provide }: TestProject): Promise<void> {
  postgres = await startPostgres({ isDurable: false })
  provide('sharedPostgres', postgres.url)
}

export async function teardown(): Promise<void> {
  await postgres?.close()
}
