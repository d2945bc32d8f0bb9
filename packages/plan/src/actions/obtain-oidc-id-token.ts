/** Kind obtain-oidc-id-token: gets an ID token of the build from the server. */
import type { StepFields } from '../fields/step-fields.ts'
import type { Filled, Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

/** The variable that the step exports. */
export const ID_TOKEN = 'ID_TOKEN'

export interface ObtainIdTokenAction {
  readonly kind: 'obtain-oidc-id-token'
  /** The service that will accept the token. Default: the server. */
  readonly audience?: Template
}

export type ResolvedObtainIdToken = Filled<ObtainIdTokenAction>

export const obtainIdToken = {
  performedBy: 'engine',
  resolve,
  subject: ({ audience }, fill) => fill(audience),
  images: () => [],
  refersTo: 'directory',
  usesServices: false,
  canOverride: false,
  fillsVolume: false,
  exportedNames: () => [ID_TOKEN],
} satisfies ActionKind<ObtainIdTokenAction, ResolvedObtainIdToken>

function resolve({ audience }: ObtainIdTokenAction, fields: StepFields): ResolvedObtainIdToken {
  return {
    kind: 'obtain-oidc-id-token',
    ...(audience !== undefined && { audience: fields.required('AUDIENCE', audience) }),
  }
}
