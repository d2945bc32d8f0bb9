import { fault } from '@windlass/kit'

/** The fault of a call that needs the server of Argo CD, at an app-proxy that does not know it. */
export function noArgoCd(): Error {
  return fault('not-supported', {
    message: 'The app-proxy does not know the server of Argo CD, which has the objects of applications.',
    hint: 'Name its URL and a token: `global.integrations.argo-cd.server` of the chart.',
  })
}
