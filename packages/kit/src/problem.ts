/** An error or warning with its place in a document or request. `path` is a field path such as `steps.build.image`. */
export interface Problem {
  readonly message: string
  readonly path?: string | undefined
  readonly file?: string | undefined
  readonly line?: number | undefined
  readonly column?: number | undefined
  readonly code?: string | undefined
  readonly severity?: 'error' | 'warning' | undefined
  readonly hint?: string | undefined
}
