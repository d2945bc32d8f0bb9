/** A step type name as written in `type`: `name`, `name:1.2.3`, `account/name` or `account/name:1.2.3`. */
export interface StepTypeName {
  readonly name: string
  /** As written; undefined if there is none. */
  readonly version: string | undefined
}

export function parseStepTypeName(written: string): StepTypeName {
  const colon = written.indexOf(':')
  return colon < 0 ? { name: written, version: undefined } : { name: written.slice(0, colon), version: written.slice(colon + 1) }
}
