export type Value = string | number | boolean | null

/** The longest expression, before and after its variables are filled in. */
export const MAX_EXPRESSION_CHARS = 12_000

/** An expression that cannot be parsed or has no value. `at` is the 0-based offset in its text. */
export class ExpressionError extends Error {
  readonly at: number

  constructor(message: string, at: number) {
    super(message)
    this.name = 'ExpressionError'
    this.at = at
  }
}

/** The type of a value as messages tell it: `a string`, `null`. */
export function typeName(value: Value): string {
  return value === null ? 'null' : `a ${typeof value}`
}
