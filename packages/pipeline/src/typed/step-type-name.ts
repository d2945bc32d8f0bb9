/** `name`, `name:1.2.3`, `account/name` and `account/name:1.2.3`, as written in `type`. */
export interface StepTypeName {
  readonly name: string
  /** As written; undefined when none is. */
  readonly version: string | undefined
}

export function parseStepTypeName(written: string): StepTypeName {
  const colon = written.indexOf(':')
  return colon < 0 ? { name: written, version: undefined } : { name: written.slice(0, colon), version: written.slice(colon + 1) }
}
