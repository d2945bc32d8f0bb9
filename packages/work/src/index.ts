export { openWork, type Batch, type Run, type Unit, type Work, type WorkOptions } from './work.ts'
export type { Aside } from './lanes.ts'
export { retryDelayMs, type SendAttempt } from './outbox.ts'
