/** What the fields of the schema get besides their arguments. */
import type { z } from 'zod'

interface Given<S extends z.ZodType> {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: object
  /** What is read of the answer. */
  readonly answer: S
}

export interface RuntimeCall {
  readonly runtime: string
  readonly namespace: string
  /** Carries out a route, such as `GET /clusters`. Throws what the route throws. */
  readonly callRoute: <S extends z.ZodType>(name: string, given: Given<S>) => Promise<z.output<S>>
}
