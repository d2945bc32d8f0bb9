/**
 * The language as data: the accepted values of each field. Validation (`check.ts`), suggestions, JSON Schema (`json-schema.ts`) and the reference
 * page (`describe.ts`) all read these tables.
 */

/** Accepted values of a field. A `text` may contain `${{NAME}}` references. */
export type Shape =
  | { readonly kind: 'text'; readonly empty?: boolean }
  /** A boolean, also as true/false, yes/no, on/off or 1/0, or exactly one variable. */
  | { readonly kind: 'flag' }
  /** A boolean or exactly one variable, nothing else. */
  | { readonly kind: 'strict-flag' }
  | {
      readonly kind: 'number'
      readonly above?: number
      readonly least?: number
      readonly most?: number
      readonly whole?: boolean
    }
  /** A text, number or boolean that is converted to text; null becomes an empty text. */
  | { readonly kind: 'plain' }
  | { readonly kind: 'word'; readonly words: readonly string[] }
  | { readonly kind: 'list'; readonly of: Shape; readonly least?: number; readonly hint?: string }
  | { readonly kind: 'map'; readonly of: Shape; readonly least?: number; readonly keys?: KeyRule }
  | { readonly kind: 'record'; readonly fields: Fields; readonly open?: boolean }
  /** The first shape that fits the kind of the YAML node determines the reported errors. */
  | { readonly kind: 'either'; readonly of: readonly Shape[] }
  /** A step; its type determines its fields. */
  | { readonly kind: 'step' }
  /** Checked by separate code; docs and editors show `as`. */
  | { readonly kind: 'own'; readonly as: Shape }
  | { readonly kind: 'any' }

export interface KeyRule {
  readonly pattern: RegExp
  readonly about: string
}

export interface Field {
  readonly shape: Shape
  /** One sentence for the reference page: meaning and default. */
  readonly about: string
  readonly required?: boolean
  /** Alternative names, which are renamed before checks. */
  readonly aliases?: readonly string[]
}

export type Fields = Readonly<Record<string, Field>>

export const text: Shape = { kind: 'text' }
export const optionalText: Shape = { kind: 'text', empty: true }
export const flag: Shape = { kind: 'flag' }
export const strictFlag: Shape = { kind: 'strict-flag' }
export const any: Shape = { kind: 'any' }
export const texts: Shape = { kind: 'list', of: { kind: 'text', empty: true } }

export function word(...words: string[]): Shape {
  return { kind: 'word', words }
}

export function either(...of: Shape[]): Shape {
  return { kind: 'either', of }
}

export function record(fields: Fields): Shape {
  return { kind: 'record', fields }
}
