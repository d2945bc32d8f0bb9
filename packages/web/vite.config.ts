/** Builds the page into `dist`, and serves it while it is developed. `WINDLASS_URL` names the server that answers calls during development. */
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const server = process.env['WINDLASS_URL'] ?? 'http://127.0.0.1:7400'
/** The server expects calls from pages of its own origin. */
const proxy = { target: server, changeOrigin: true, headers: { origin: new URL(server).origin } }

/** Answers addresses of terminals with their document, as the server does. */
const terminals: Plugin = {
  name: 'terminals',
  configureServer: ({ middlewares }) => {
    middlewares.use((request, _response, next) => {
      if (/^\/builds\/[^/]+\/terminals\/[^/]+$/.test(request.url ?? '')) request.url = '/terminal.html'
      next()
    })
  },
}

export default defineConfig({
  plugins: [react(), terminals],
  // Workers are started as modules.
  worker: { format: 'es' },
  build: {
    target: 'es2024',
    manifest: true,
    // The policy of the documents allows no data addresses for fonts and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
    rolldownOptions: {
      input: ['index.html', 'terminal.html'],
      // The chunk has a budget of its own, so its name must not depend on the order of imports.
      output: { codeSplitting: { groups: [{ name: 'code-editor', test: /node_modules\/@(?:codemirror|lezer)\// }] } },
    },
  },
  server: { port: 7410, strictPort: true, proxy: { '/v1': proxy, '/api': proxy } },
})
