/** A page with nothing but the viewer of a log and its messages: its parameters are those of the component. */
import { QueryClientProvider } from '@tanstack/react-query'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { createElement, Fragment } from 'react'
import { createRoot } from 'react-dom/client'
import '@fontsource-variable/jetbrains-mono/wght.css'
import '../../../packages/web/src/looks/tokens.css'
import '../../../packages/web/src/looks/base.css'
import { LogViewer } from '../../../packages/web/src/log/viewer.tsx'
import { queryClient } from '../../../packages/web/src/server/query-client.ts'
import { listenToKeys } from '../../../packages/web/src/shell/shortcuts.ts'
import { Toasts } from '../../../packages/web/src/shell/toasts.tsx'

const query = new URLSearchParams(location.search)
const viewer = createElement(LogViewer, {
  buildId: query.get('build'),
  attempt: Number(query.get('attempt')),
  stream: query.get('stream'),
  live: query.get('live') === 'true',
})
listenToKeys()
const both = createElement(Fragment, null, viewer, createElement(Toasts))
const cached = createElement(QueryClientProvider, { client: queryClient }, both)
createRoot(document.querySelector('#root')).render(createElement(CSPProvider, { disableStyleElements: true }, cached))
