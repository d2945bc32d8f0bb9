export type Value = string | number | boolean | null

/** The maximum length of an expression, both before and after its variables are substituted. */
export const MAX_EXPRESSION_CHARS = 12_000

/** Thrown for an expression that cannot be parsed or evaluated. `at` is the 0-based offset in its text. */
export class ExpressionError extends Error {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.name = 'ExpressionError'
    this.at = at
  }
}

/** Returns the type of a value for messages: `a string`, `null`. */
export function typeName(value: Value): string {
  return value === null ? 'null' : `a ${typeof value}`
}
