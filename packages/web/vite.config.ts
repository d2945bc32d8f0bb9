/** Builds the page into `dist`, and serves it while it is developed. `WINDLASS_URL` names the server that answers calls during development. */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const server = process.env['WINDLASS_URL'] ?? 'http://127.0.0.1:7400'
/** The server expects calls from pages of its own origin. */
const proxy = { target: server, changeOrigin: true, headers: { origin: new URL(server).origin } }

export default defineConfig({
  plugins: [react()],
  // Workers are started as modules.
  worker: { format: 'es' },
  build: {
    target: 'es2024',
    manifest: true,
    // The policy of the documents allows no data addresses for fonts and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
  },
  server: { port: 7410, strictPort: true, proxy: { '/v1': proxy, '/api': proxy } },
})
