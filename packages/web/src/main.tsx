/** Starts the page. */
import '@fontsource-variable/inter/wght.css'
import '@fontsource-variable/jetbrains-mono/wght.css'
import './looks/tokens.css'
import './looks/base.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { onReturn } from './server/away.ts'
import { startPatching } from './server/patch.ts'
import { queryClient } from './server/query-client.ts'
import { watchVisibility } from './server/stream.ts'
import { watchLostFocus } from './shell/lost-focus.ts'
import { listenToKeys } from './shell/shortcuts.ts'

const root = document.querySelector('#root')
if (root === null) throw new Error('The document has no element with the id root.')

startPatching()
watchVisibility()
listenToKeys()
watchLostFocus()
onReturn(() => void queryClient.invalidateQueries())

createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <App />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
