/** Thrown by `renderTemplate`, with the 1-based line and column in the template. */
export class TemplateError extends Error {
  readonly line: number
  readonly column: number

  constructor(message: string, place: { readonly line: number; readonly column: number }) {
    super(message)
    this.name = 'TemplateError'
    this.line = place.line
    this.column = place.column
  }
}

/** A problem at an offset; the caller that has the text converts it to a TemplateError. */
export class TemplateProblem extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.name = 'TemplateProblem'
    this.offset = offset
  }
}

/** Thrown by functions for invalid arguments; the evaluator adds the position. */
export class FunctionProblem extends Error {
  override readonly name = 'FunctionProblem'
}
