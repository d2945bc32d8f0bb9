/** What is wrong with a template, and where: 1-based line and column in the template's text. The only thing that rendering throws. */
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

/** What went wrong, by the offset in the text; the caller that knows the text makes a TemplateError of it. */
export class TemplateProblem extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.name = 'TemplateProblem'
    this.offset = offset
  }
}

/** A function was given what it cannot work with; the evaluator adds where. */
export class FunctionProblem extends Error {
  override readonly name = 'FunctionProblem'
}
