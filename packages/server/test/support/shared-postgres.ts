/** Vitest's global setup of the store tests: one PostgreSQL for all their files. */
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../../../e2e/support/postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** `postgres://` URL of the server. */
    sharedPostgres?: string
  }
}

export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres({ isDurable: false })
  provide('sharedPostgres', postgres.url)
  return () => postgres.close()
}
