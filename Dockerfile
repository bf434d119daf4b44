# The base image brings Node 24, so neither the `node` package nor the embedded Postgres is installed.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY migrations migrations
COPY config config
COPY workers workers
COPY src src
ARG COMMIT
ENV TRUNKLINE_COMMIT=$COMMIT TRUNKLINE_COMMAND=trunkline
RUN ln -s /app/src/trunkline.cjs /usr/local/bin/trunkline
USER node
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "config/container-health.cjs"]
# A larger young generation takes 100 MB and makes nothing faster.
ENTRYPOINT ["node", "--max-semi-space-size=16", "src/trunkline.cjs"]
CMD ["web"]
