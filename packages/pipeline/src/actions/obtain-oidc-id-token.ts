/** Step type obtain-oidc-id-token: gets an ID token of the build. */
import type { ObtainIdTokenAction } from '@windlass/plan'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { text } from '../language/shape.ts'
import type { BuiltInStepType } from '../language/step-type.ts'

export const obtainIdToken: BuiltInStepType<ObtainIdTokenAction> = {
  about: 'Exports `ID_TOKEN`: an ID token of the build, which clouds and other services accept instead of a stored secret.',
  open: false,
  fields: {
    // The name is that of the step type of Codefresh.
    AUDIENCE: { shape: text, about: 'The service that will accept the token; the URL of the server by default.' },
  },
  checkContext: undefined,
  toAction: (entries: Entries): ObtainIdTokenAction => ({
    kind: 'obtain-oidc-id-token',
    ...read.when('audience', read.text(entries, 'AUDIENCE')),
  }),
}
